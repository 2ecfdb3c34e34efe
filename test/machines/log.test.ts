import { constants } from 'node:fs';
import { appendFile, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { QmpClient } from '#server/machines/qemu/qmp/qmp-client.ts';
import { connectUnix } from '#server/system/unix-sockets.ts';
import { createTestDriver, type TestDriver } from '../support/test-driver.ts';

const mib = 1024 * 1024;
let host: TestDriver;
let machine: Awaited<ReturnType<TestDriver['driver']['launch']>>;
beforeAll(async () => {
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: console.error };
  host = await createTestDriver({ logCheckMs: 100, log });
  machine = await host.driver.launch({ id: 'talker', size: 'small' });
});
afterAll(async () => {
  await machine.destroy();
  await host.remove();
});

/** The open flags of QEMU's standard error (see fcntl(2)). */
async function logFlags(pid: number): Promise<number> {
  return Number.parseInt(/^flags:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/fdinfo/2`, 'utf8'))?.[1] ?? '', 8);
}

it('a log that grows is trimmed to its last lines, and QEMU continues writing after them', async () => {
  const path = join(host.machinesDir, 'talker/qemu.log');
  expect((await logFlags(machine.pid)) & constants.O_APPEND).toBe(constants.O_APPEND);

  machine.detach();
  const qmp = new QmpClient(await connectUnix(join(host.machinesDir, 'talker/qmp'), AbortSignal.timeout(10_000)));
  await qmp.negotiate();
  const monitor = (line: string) => qmp.execute('human-monitor-command', { 'command-line': line });
  // From now on QEMU writes a line to its standard error for every command.
  await monitor('trace-event handle_qmp_command on');
  await qmp.execute('query-status');
  const grownBytes = (await stat(path)).size;
  expect(grownBytes).toBeGreaterThan(0);

  await appendFile(path, `${'x'.repeat(99)}\n`.repeat(3 * 10_486));
  await expect.poll(async () => (await stat(path)).size).toBeLessThan(mib);
  await qmp.execute('query-name');
  qmp.close();

  const text = await readFile(path, 'utf8');
  const { size, blocks } = await stat(path);
  console.log(
    `trimmed to ${size} bytes in ${blocks * 512} bytes of disk; QEMU then wrote: ${text.trim().split('\n').at(-1)}`,
  );
  expect(text.startsWith('[earlier lines were dropped]\n')).toBe(true);
  expect(text).not.toContain('\0');
  expect(text.trim().split('\n').at(-1)).toContain('query-name');
  expect(blocks * 512).toBeGreaterThanOrEqual(size);
});
