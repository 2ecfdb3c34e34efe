import { readlink } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gatewayAddress } from '#server/machines/qemu/network/plan/address-plan.ts';
import { call, createSandbox, deleteSandbox, exec, output, type SandboxBody } from '../support/api-requests.ts';
import { length } from '../support/length.ts';
import { machinePids } from '../support/machine-processes.ts';
import { unlimitedRates } from '../support/service-settings.ts';
import { deleteSnapshot, listSnapshots, type SnapshotBody, takeSnapshot } from '../support/snapshots.ts';
import { startTestService, type TestService } from '../support/test-service.ts';
import {
  askWitness,
  expectCountingOn,
  startWitness,
  type WitnessSecrets,
  type WitnessState,
} from '../support/witness.ts';

const copies = length(3, 10);
const forkCount = length(2, 3);
/** Memory that is most of the snapshot, and that no copy changes. */
const ballastMib = 32;
const dirtiedMib = length(64, 2_048);
/** Copies of a sandbox that is building. */
const busyCopies = length(1, 10);
/** Few files and a pause between two builds: at full length, builds keep the machine as busy as it can be. */
const build = { files: length(50, 200), pauseSeconds: length(0.5, 0) };
let service: TestService;
let original: SandboxBody;
let before: WitnessState;
let snapshot: SnapshotBody;
/** When the snapshot was complete. */
let savedAtMs: number;
let copied: readonly SandboxBody[] = [];

beforeAll(async () => {
  service = await startTestService({ ...unlimitedRates, MAYFLY_LIMIT_CONCURRENT_SANDBOXES: '40' });
  original = await createSandbox(service, { timeout_minutes: 120 });
  before = await startWitness(service, original.id, { ballastMib, secrets: true });
  // Commands of the original that run during the snapshot.
  void exec(service, original.id, 'sleep 3600', { timeout_ms: 600_000 }).catch(() => {});
  snapshot = await takeSnapshot(service, original.id, { name: 'a witness', alias: 'witness' });
  savedAtMs = Date.now();
});
afterAll(() => service?.stop());

describe('the original', () => {
  it('goes on with its processes, open files, local connections and listening server', async () => {
    const after = await askWitness(service, original.id, 'note written after the snapshot');
    expect(after).toMatchObject({ pid: before.pid, ballast_intact: true, connected: true });
    expect(after.counted).toBeGreaterThan(before.counted);
    expect(after.nameless).toBe('written before the snapshot\nwritten after the snapshot\n');
    await expectCountingOn(service, original.id, after);
    const read = (await (await call(service, 'GET', `/sandboxes/${original.id}`)).json()) as SandboxBody;
    expect(read.status).toBe('running');
    expect(await listSnapshots(service)).toEqual([snapshot]);
    expect(snapshot).toMatchObject({ alias: 'witness', sandbox_id: original.id, size: 'small' });
    expect(snapshot.bytes).toBeGreaterThan(0);
  });

  it('has the right clock again, although it stood still for a moment', async () => {
    const behindMs = async () => {
      const askedAtMs = Date.now();
      return askedAtMs - Number(await output(service, original.id, 'date +%s%3N'));
    };
    const becomesRight = async () => {
      for (let asked = 0; asked < 10; asked += 1) {
        if ((await behindMs()) < 100) return true;
        await pause(500);
      }
      return false;
    };
    // It is set in the background, on a busy host late. Without that, every further save would leave it further behind.
    for (let saves = 1; saves <= 4; saves += 1) {
      if (await becomesRight()) return;
      await deleteSnapshot(service, (await takeSnapshot(service, original.id)).id);
    }
    expect.fail('the clock stays behind');
  });
});

describe('forks', () => {
  it('are copies of a running sandbox without a kept snapshot', async () => {
    const response = await call(service, 'POST', `/sandboxes/${original.id}/fork`, { count: forkCount });
    expect(response.status).toBe(201);
    const { data } = (await response.json()) as { data: { sandbox: SandboxBody | null }[] };
    const forks = data.map(({ sandbox }) => sandbox?.id ?? '');
    expect(forks).toHaveLength(forkCount);
    const states = await Promise.all(forks.map((id) => askWitness(service, id, 'state')));
    for (const state of states) {
      expect(state).toMatchObject({ pid: before.pid, ballast_intact: true, connected: true });
      expect(state.nameless).toContain('written after the snapshot');
    }
    expect(await listSnapshots(service)).toEqual([snapshot]);
    await Promise.all(forks.map((id) => deleteSandbox(service, id)));
  });
});

describe(`${copies} copies at once`, () => {
  beforeAll(async () => {
    copied = await Promise.all(
      Array.from({ length: copies }, (_, index) =>
        createSandbox(service, index % 2 === 0 ? { snapshot_id: snapshot.id } : { template: 'witness' }),
      ),
    );
  });

  const each = <T>(ask: (id: string) => Promise<T>) => Promise.all(copied.map(({ id }) => ask(id)));

  it('produce different random numbers from their first command on, also in a process that was running in the snapshot', async () => {
    const secrets = await each((id) => askWitness<WitnessSecrets>(service, id, 'secrets'));
    secrets.push(await askWitness<WitnessSecrets>(service, original.id, 'secrets'));
    const kinds = ['getrandom', 'uuid', 'tls', 'tls_key'] as const;
    const different = kinds.map((kind) => [kind, new Set(secrets.map((made) => made[kind])).size]);
    expect(different).toEqual(kinds.map((kind) => [kind, copies + 1]));
    const drawn = await each((id) => output(service, id, 'head -c 16 /dev/urandom | od -An -tx1'));
    expect(new Set(drawn).size).toBe(copies);
  });

  it.runIf(process.arch === 'x64')('have a kernel that notices by VMGenID that it was copied', async () => {
    const [first] = copied;
    // The driver is on the ACPI bus or, in newer kernels, on the platform bus.
    expect(await output(service, first?.id ?? '', 'ls /sys/bus/*/drivers/vmgenid')).toContain('QEMUVGID');
  });

  it('have the memory, open files, local connections and server of the instant', async () => {
    await each(async (id) => {
      const state = await askWitness(service, id, 'state');
      expect(state).toMatchObject({ pid: before.pid, ballast_intact: true, connected: true });
      expect(state.nameless).toBe('written before the snapshot\n');
      expect(state.counted).toBeGreaterThan(before.counted);
      await expectCountingOn(service, id, state);
    });
  });

  it('have an identity of their own and the right clock', async () => {
    const machineIds = await Promise.all(
      copied.map(async ({ id, created_at }) => {
        const askedAtMs = Date.now();
        const answer = await output(service, id, 'date +%s%3N; hostname; cat /etc/machine-id');
        const [guestMs, hostname, machineId] = answer.split('\n');
        expect(hostname).toBe(id.replaceAll('_', '-'));
        // A clock that nobody set would be behind by at least the time between the snapshot and the copy.
        expect(askedAtMs - Number(guestMs)).toBeLessThan(Date.parse(created_at) - savedAtMs);
        expect(Number(guestMs)).toBeLessThan(Date.now() + 10_000);
        return machineId;
      }),
    );
    expect(new Set([...machineIds, await output(service, original.id, 'cat /etc/machine-id')]).size).toBe(copies + 1);
  });

  it('have a network of their own, which works', async () => {
    // All machines have the same addresses. The gateway, with the name server on port 53, is in the namespace of the machine.
    await each((id) => output(service, id, `exec 3<>/dev/tcp/${gatewayAddress}/53`));
    const pids = await machinePids(service.dataDir);
    const machines = [original, ...copied].map(({ id }) => pids.get(id) ?? 0);
    const namespaces = await Promise.all(['self', ...machines].map((pid) => readlink(`/proc/${pid}/ns/net`)));
    expect(new Set(namespaces).size).toBe(copies + 2);
  });

  it('go on with the commands of the original, which belong to no execution', async () => {
    const [first] = copied;
    expect(await output(service, first?.id ?? '', 'pgrep -xc sleep')).toBe('1');
    const list = await call(service, 'GET', `/sandboxes/${first?.id}/executions`);
    const { data } = (await list.json()) as { data: { status: string }[] };
    expect(data.every(({ status }) => status === 'completed')).toBe(true);
  });

  it('can be saved themselves: a snapshot of a copy holds only what changed', async () => {
    const [first] = copied;
    const again = await takeSnapshot(service, first?.id ?? '');
    console.log(`bytes on disk: snapshot ${snapshot.bytes}, snapshot of its copy ${again.bytes}`);
    expect(snapshot.bytes).toBeGreaterThan(ballastMib * 1024 ** 2);
    expect(again.bytes).toBeLessThan(snapshot.bytes / 2);
    await Promise.all(copied.map(({ id }) => deleteSandbox(service, id)));
    await deleteSnapshot(service, snapshot.id);
    const grandchild = await createSandbox(service, { snapshot_id: again.id });
    expect(await askWitness(service, grandchild.id, 'state')).toMatchObject({
      pid: before.pid,
      ballast_intact: true,
      connected: true,
    });
    await deleteSandbox(service, grandchild.id);
    await deleteSnapshot(service, again.id);
  });
});

it(`${dirtiedMib} MiB of dirtied memory and a build that runs during the snapshot are the same in every copy`, async () => {
  const dirtied = await askWitness(service, original.id, `dirty ${dirtiedMib}`);
  expect(dirtied).toMatchObject({ pid: before.pid, ballast_intact: true, connected: true });
  await output(
    service,
    original.id,
    `mkdir -p build && (round=0; while true; do round=$((round+1)); for i in {1..${build.files}}; do echo "int f$i(void) { return $round; }" > build/f$i.c; done; cat build/*.c | sha256sum > build/sum; [ -e build/stop ] && break; gcc -c -o build/f1.o build/f1.c; sleep ${build.pauseSeconds}; done; touch build/stopped) >/dev/null 2>&1 &`,
  );
  const startedAt = performance.now();
  const taken = await takeSnapshot(service, original.id);
  console.log(
    `${dirtiedMib} MiB dirtied: taken in ${Math.round(performance.now() - startedAt)} ms, ${Math.round(taken.bytes / 1024 ** 2)} MiB on disk`,
  );
  const made = await Promise.all(
    Array.from({ length: busyCopies }, () => createSandbox(service, { snapshot_id: taken.id })),
  );
  const all = [original, ...made];
  const machineIds = await Promise.all(
    all.map(async ({ id }) => {
      // The build goes on in all of them, until a round is complete. A file of an earlier round would be a write that was lost.
      const stop = 'touch build/stop; until [ -e build/stopped ]; do sleep 0.2; done';
      const compare =
        "cat build/*.c | sha256sum | cmp - build/sum && grep -ho 'return [0-9]*' build/*.c | sort | uniq -c";
      const rounds = await output(service, id, `${stop}; ${compare}`);
      expect(rounds).toMatch(new RegExp(`^${build.files} return [0-9]+$`));
      const state = await askWitness(service, id, 'state');
      const { pid, nameless } = dirtied;
      expect(state).toMatchObject({ pid, nameless, ballast_intact: true, connected: true });
      expect(state.counted).toBeGreaterThanOrEqual(dirtied.counted);
      await expectCountingOn(service, id, state);
      const [hostname, machineId] = (await output(service, id, 'hostname; cat /etc/machine-id')).split('\n');
      expect(hostname).toBe(id.replaceAll('_', '-'));
      return machineId;
    }),
  );
  expect(new Set(machineIds).size).toBe(all.length);
  await Promise.all(all.map(({ id }) => deleteSandbox(service, id)));
  await deleteSnapshot(service, taken.id);
}, 1_800_000);
