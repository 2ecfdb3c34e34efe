import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { pinoLog } from '../../../test/machines/pino-log.ts';
import { type AdoptionParts, adoptMachines } from './adopt.ts';
import { readProcessIdentity } from './jail/proc.ts';
import { UidLeases } from './jail/uid-leases.ts';
import { machineLayout, writeMachineRecord } from './machine-folder.ts';
import { CleanupRetrier } from './release-stack.ts';
import { runStep } from './steps.ts';

let machinesDir = '';
let cleanup: CleanupRetrier;
const { log, lines } = pinoLog();
beforeEach(async () => {
  machinesDir = await mkdtemp(join(tmpdir(), 'mayfly-adopt-'));
  cleanup = new CleanupRetrier(log);
});
afterEach(async () => {
  await cleanup[Symbol.asyncDispose]();
  await rm(machinesDir, { recursive: true });
});

/** An adoption in which every machine's resources are missing and removals do nothing, unless overridden. */
function parts(overrides: Partial<AdoptionParts> = {}): AdoptionParts {
  return {
    dataDir: '/data',
    machinesDir,
    resources: {
      folderOf: (id) => join(machinesDir, id),
      adopt: () => Promise.reject(new Error('its network is gone')),
      pushOrphan: () => {},
      shareAgentSockets: async () => {},
    },
    cgroups: { list: async () => [], memoryBytesOf: async () => 0 },
    leases: { takeOver: () => [], release: () => {}, reclaim: () => [] },
    networks: { sweep: async () => 0 },
    agentSockets: { list: async () => [] },
    // The processes of this test are its own children, whose ids are not reused.
    killer: { killProcess: async ({ pid }) => void process.kill(pid, 'SIGKILL') },
    cleanup,
    saver: { save: () => Promise.reject(new Error('nothing is saved here')), cleanUpAfter: async () => {} },
    log,
    step: runStep,
    ...overrides,
  };
}

/** A machine whose process runs, but is no QEMU. */
async function makeMachine(id: string) {
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
  await once(child, 'spawn');
  const identity = readProcessIdentity(child.pid ?? 0);
  if (!identity) throw new Error('the process did not start');
  await mkdir(join(machinesDir, id));
  const lease = { slot: 0, uid: 2_100_000, gid: 2_100_000, token: 'token' };
  await writeMachineRecord(machineLayout(join(machinesDir, id)).recordPath, {
    id,
    size: 'small',
    lease,
    process: identity,
  });
  return { exited: once(child, 'exit') };
}

it('ends a machine that cannot be adopted and logs why', async () => {
  const { exited } = await makeMachine('one');
  expect(await adoptMachines(parts())).toEqual([]);
  expect(await exited).toEqual([null, 'SIGKILL']);
  expect(lines()).toContainEqual(
    expect.objectContaining({
      event: 'machine_adoption_failed',
      machine_id: 'one',
      err: expect.objectContaining({ message: 'its network is gone' }),
    }),
  );
});

it('removes orphans at the same time, up to a limit, and sweeps networks and uids afterwards', async () => {
  const ids = Array.from({ length: 20 }, (_, index) => `orphan${index}`);
  for (const id of ids.slice(0, 10)) await mkdir(join(machinesDir, id));
  let running = 0;
  let mostAtOnce = 0;
  const order: string[] = [];
  const removeOrphan = async () => {
    running += 1;
    mostAtOnce = Math.max(mostAtOnce, running);
    await wait(5);
    running -= 1;
    order.push('orphan');
  };
  const { resources, leases } = parts();
  await adoptMachines(
    parts({
      resources: { ...resources, pushOrphan: (_id, releases) => releases.push('remove folder', removeOrphan) },
      // Groups and sockets of the other ten, whose folders are gone.
      cgroups: { list: async () => ids.slice(0, 15), memoryBytesOf: async () => 0 },
      agentSockets: { list: async () => ids.slice(10) },
      networks: {
        sweep: async () => {
          order.push('networks');
          return 2;
        },
      },
      leases: {
        ...leases,
        reclaim: () => {
          order.push('uids');
          return [2_100_001];
        },
      },
    }),
  );
  expect(order).toEqual([...ids.map(() => 'orphan'), 'networks', 'uids']);
  expect(mostAtOnce).toBe(8);
  expect(lines()).toContainEqual(
    expect.objectContaining({ event: 'orphans_removed', machines: expect.arrayContaining(ids), networks: 2 }),
  );
});

it('does not let machines wait for the removal of orphans', async () => {
  const { exited } = await makeMachine('one');
  // The sweep ends only once the machine has been dealt with.
  const networks: AdoptionParts['networks'] = {
    sweep: async (runningSlots) => {
      await exited;
      return runningSlots.size;
    },
  };
  expect(await adoptMachines(parts({ networks }))).toEqual([]);
});

it('holds the slots of orphaned networks until they are removed, apart from those that another host process has leased', async () => {
  const range = { databasePath: join(machinesDir, 'leases', 'uids.db'), firstUid: 2_100_000, slots: 3 };
  using leases = new UidLeases('/data', range);
  using others = new UidLeases('/other', range);
  expect(others.acquire().slot).toBe(0);
  const networks: AdoptionParts['networks'] = {
    sweep: async (_runningSlots, orphanLeases) => {
      const held = orphanLeases.hold([0, 1]);
      expect(held.map(({ slot }) => slot)).toEqual([1]);
      const another = others.acquire();
      expect(another.slot).toBe(2);
      others.release(another);
      for (const lease of held) orphanLeases.release(lease);
      return held.length;
    },
  };
  await adoptMachines(parts({ networks, leases }));
  expect(others.acquire().slot).toBe(1);
  expect(lines()).toContainEqual(expect.objectContaining({ event: 'orphans_removed', networks: 1 }));
});
