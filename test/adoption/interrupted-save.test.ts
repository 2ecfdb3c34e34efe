import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createGuestConnector } from '#server/guest/connector.ts';
import { QemuDriver } from '#server/machines/qemu/driver.ts';
import type { QemuMachine } from '#server/machines/qemu/machine.ts';
import { RpcChild } from '#server-test/network/rpc.ts';
import { length } from '../support/length.ts';
import { preparedHost } from '../support/prepared-host.ts';

/** How long after the start of a save its process is killed: during the copy of the memory, around the instant, and during the extraction. */
const killAfterMs = length([0, 700, 1_500], [0, 200, 400, 700, 1_000, 1_500, 2_500]);

let dataDir = '';
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'mayfly-interrupted-'));
});
afterAll(async () => {
  await rm(dataDir, { recursive: true, force: true });
});

const log = { debug: () => {}, info: () => {}, warn: () => {}, error: console.error };

/**
 * What the machine of the test before was saved as after its interrupted save. The next machine is launched from it, so that no other copy has
 * to be made to see that it is whole.
 */
let saved: string | undefined;

/** Launches a machine in another process, which is killed while it saves the machine. */
async function interruptSave(name: string, afterMs: number): Promise<void> {
  const worker = new RpcChild([process.execPath, join(import.meta.dirname, '../support/machines-worker.ts')]);
  try {
    await worker.ask('open', { host: preparedHost(), dataDir, resolvConfPath: '/etc/resolv.conf' });
    await worker.ask('launch', { name, snapshotId: saved });
    const command = saved === undefined ? 'echo kept > file' : 'cat file; echo kept > file';
    const { stdout } = await worker.ask<{ readonly stdout: string }>('run', { name, command });
    expect(stdout).toBe(saved === undefined ? '' : 'kept\nand more');
    const interrupted = worker.ask('save', { name, snapshot: 'snap_interrupted' }).catch(() => {});
    const memoryPath = join(dataDir, 'machines', name, 'memory');
    const exists = () =>
      stat(memoryPath).then(
        () => true,
        () => false,
      );
    await expect.poll(exists, { timeout: 60_000, interval: 5 }).toBe(true);
    await delay(afterMs);
    await worker.kill();
    await interrupted;
  } finally {
    await worker.kill();
  }
}

async function readKept(machine: QemuMachine): Promise<string> {
  const agent = await createGuestConnector().attach(machine, 120_000);
  const request = { id: 'exec_kept', command: 'cat file; echo and more >> file; sync', cwd: '/workspace', env: {} };
  const { stdout } = await agent.execute({ ...request, timeoutMs: 120_000, captureBytes: 1_000 });
  await agent.forgetExecution('exec_kept');
  agent.close();
  return stdout.toString();
}

it.each(killAfterMs)(
  'a machine whose save was killed after %i ms goes on, and nothing of the save is left',
  async (afterMs) => {
    const name = `killed-${afterMs}`;
    await interruptSave(name, afterMs);
    const { engine, templates, tools } = preparedHost();
    const driver = await QemuDriver.open({ engine, templates, tools, dataDir, log });
    try {
      const [machine] = await driver.adopt();
      if (machine === undefined) throw new Error('the machine was not adopted');
      if (saved !== undefined) await driver.deleteSnapshot(saved);
      saved = undefined;
      const complete = (await driver.snapshots()).map(({ id }) => id);
      console.log(`killed after ${afterMs} ms: ${complete.length} complete snapshots`);
      expect(await readdir(join(dataDir, 'snapshots'))).toEqual(complete);
      expect(await readdir(join(dataDir, 'machines', name))).not.toContain('memory');
      expect(await readKept(machine)).toBe('kept\n');
      await machine.save('snap_again');
      const isLast = afterMs === killAfterMs.at(-1);
      for (const id of [...complete, ...(isLast ? ['snap_again'] : [])]) {
        const copy = await driver.launch({ id: `${name}-copy`, size: 'small', snapshotId: id });
        expect(await readKept(copy)).toBe(id === 'snap_again' ? 'kept\nand more\n' : 'kept\n');
        await copy.destroy();
        await driver.deleteSnapshot(id);
      }
      await machine.destroy();
      expect(await readdir(join(dataDir, 'machines'))).toEqual([]);
      if (!isLast) saved = 'snap_again';
    } finally {
      await driver[Symbol.asyncDispose]();
    }
  },
);
