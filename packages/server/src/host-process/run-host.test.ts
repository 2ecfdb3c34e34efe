import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { StartRequest } from '../../test/host-process/host-worker.ts';
import { RpcChild } from '../../test/network/rpc.ts';
import { RecordedLog } from '../../test/recorded-log.ts';
import { runFolderOf } from '../machines/protocol/run-folder.ts';
import { RemoteDriver } from '../machines/remote/remote-driver.ts';
import { cannotStartCode } from '../process/start-failure.ts';
import { runProgram } from '../system/run-program.ts';

const worker = new URL('../../test/host-process/host-worker.ts', import.meta.url).pathname;

let dataDir = '';
const hosts: RpcChild[] = [];
const log = new RecordedLog();
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'host-'));
});
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.kill();
  await rm(dataDir, { recursive: true });
});

async function startHost(request: Omit<StartRequest, 'dataDir'> = {}): Promise<RpcChild> {
  const host = new RpcChild([process.execPath, worker]);
  hosts.push(host);
  await host.ask('start', { dataDir, ...request });
  return host;
}
const connect = () =>
  RemoteDriver.open({ runDir: runFolderOf(dataDir), log, retryPauses: { firstMs: 5, longestMs: 50 } });

test('a host process that is killed comes back with its machines, and the service goes on by itself', async () => {
  const host = await startHost();
  await using driver = await connect();
  await driver.adopt();
  const [kept, lost] = await Promise.all(['kept', 'lost'].map((id) => driver.launch({ id, size: 'small' })));
  await host.kill();
  await expect.poll(() => driver.isAvailable()).toBe(false);
  const next = await startHost({ running: ['kept', 'never_answered'] });
  await expect.poll(() => driver.isAvailable()).toBe(true);
  expect(await lost?.exited).toMatchObject({ requested: false });
  await kept?.pause();
  await expect
    .poll(() => next.ask('machines'))
    .toEqual([
      { id: 'kept', destroyed: false, dead: false },
      { id: 'never_answered', destroyed: true, dead: false },
    ]);
});

test('a stop signal ends the host process in order: its socket is gone, and a next one can start', async () => {
  const host = await startHost({ running: ['m1'] });
  await using driver = await connect();
  expect((await driver.adopt()).map(({ id }) => id)).toEqual(['m1']);
  process.kill(host.pid, 'SIGTERM');
  expect(await host.exited()).toBe(0);
  expect(await readdir(runFolderOf(dataDir))).toEqual([]);
  await startHost({ running: ['m1'] });
  await expect.poll(() => driver.isAvailable()).toBe(true);
});

test('a host process survives the loss of its service and serves the next one', async () => {
  const host = await startHost();
  const before = await connect();
  await before.launch({ id: 'm1', size: 'small' });
  await before[Symbol.asyncDispose]();
  await expect.poll(() => host.ask('events')).toContain('service_disconnected');
  await using after = await connect();
  expect((await after.adopt()).map(({ id }) => id)).toEqual(['m1']);
});

test('two host processes on one data folder: the second is refused', async () => {
  await startHost();
  await expect(startHost()).rejects.toThrow('Another Mayfly is using the data folder');
});

test('a host process without settings says what is wrong and exits', async () => {
  const main = new URL('./main.ts', import.meta.url).pathname;
  const started = async (input: string): Promise<string> => {
    const run = runProgram(process.execPath, [main], { input, deadlineMs: 60_000 });
    return await run.catch((error: unknown) => String(error));
  };
  for (const [input, problem] of [
    ['', 'not JSON'],
    ['{"dataDir":"relative"}', 'dataDir'],
    ['{"setting_of_another_version":1}', 'Restart npm start'],
  ] as const) {
    const said = await started(input);
    expect(said).toContain(problem);
    // The supervisor would start it with the same settings again and again.
    expect(said).toContain(`exit code ${cannotStartCode}`);
  }
});
