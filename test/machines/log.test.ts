import { constants } from 'node:fs';
import { appendFile, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { QmpClient } from '#server/machines/qemu/qmp/client.ts';
import { connectUnix } from '#server/machines/qemu/unix-socket.ts';
import { makeTestDriver, type TestDriver } from '../support/driver.ts';

const mib = 1024 * 1024;
let host: TestDriver;
let machine: Awaited<ReturnType<TestDriver['driver']['launch']>>;
beforeAll(async () => {
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: console.error };
  host = await makeTestDriver({ logLookMs: 100, log });
  machine = await host.driver.launch({ id: 'talker', size: 'small' });
});
afterAll(async () => {
  await machine.destroy();
  await host.remove();
});

/** How QEMU has opened its standard error, as fcntl's flags. */
const logFlags = async (pid: number): Promise<number> =>
  Number.parseInt(/^flags:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/fdinfo/2`, 'utf8'))?.[1] ?? '', 8);

it('a log that grows is cut to its last lines, and QEMU goes on writing behind them', async () => {
  const path = join(host.machinesDir, 'talker/qemu.log');
  expect((await logFlags(machine.pid)) & constants.O_APPEND).toBe(constants.O_APPEND);

  machine.leave();
  const qmp = new QmpClient(await connectUnix(join(host.machinesDir, 'talker/qmp'), AbortSignal.timeout(10_000)));
  await qmp.negotiate();
  const monitor = (line: string) => qmp.execute('human-monitor-command', { 'command-line': line });
  // QEMU writes a line to its standard error for every command from now on.
  await monitor('trace-event handle_qmp_command on');
  await qmp.execute('query-status');
  const grownBytes = (await stat(path)).size;
  expect(grownBytes).toBeGreaterThan(0);

  await appendFile(path, `${'x'.repeat(99)}\n`.repeat(3 * 10_486));
  await expect.poll(async () => (await stat(path)).size, { timeout: 10_000 }).toBeLessThan(mib);
  await qmp.execute('query-name');
  qmp.close();

  const text = await readFile(path, 'utf8');
  const { size, blocks } = await stat(path);
  console.log(
    `cut to ${size} bytes in ${blocks * 512} bytes of disk; QEMU then wrote: ${text.trim().split('\n').at(-1)}`,
  );
  expect(text.startsWith('[earlier lines were dropped]\n')).toBe(true);
  expect(text).not.toContain('\0');
  expect(text.trim().split('\n').at(-1)).toContain('query-name');
  expect(blocks * 512).toBeGreaterThanOrEqual(size);
});
