import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { RpcChild } from '../../test/network/rpc.ts';
import { withDeadline } from '../core/scheduling/deadline.ts';
import { hostSocketPath, runFolderOf } from '../machines/protocol/run-folder.ts';

const deadlineMs = 120_000;

test('a service whose host process came back in another version ends, so that it is started from the same code', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'version-'));
  await mkdir(join(dataDir, 'service'), { mode: 0o700 });
  const host = new RpcChild([
    process.execPath,
    new URL('../../test/host-process/host-worker.ts', import.meta.url).pathname,
  ]);
  await host.ask('start', { dataDir });
  const main = new URL('./main.ts', import.meta.url).pathname;
  const settings = {
    MAYFLY_DATA_DIR: dataDir,
    MAYFLY_PORT: '0',
    MAYFLY_PREVIEW_PORT: '0',
    MAYFLY_POOL: 'none',
    MAYFLY_BOOTSTRAP_API_KEY: 'chosen-by-operator-0123456789abcdef',
  };
  const service = spawn(process.execPath, [main, 'serve'], { env: settings, stdio: ['ignore', 'pipe', 'pipe'] });
  try {
    const ended = once(service, 'exit');
    const logged = text(service.stderr);
    // Deadlines of their own, so that nothing stays behind when this fails.
    await withDeadline('the start', deadlineMs, Promise.race([once(service.stdout, 'data'), ended]));
    await host.kill();
    const socketPath = hostSocketPath(runFolderOf(dataDir));
    await rm(socketPath);
    const newer = createServer((socket) => {
      socket.on('error', () => {}).end('{"hello":"mayfly-host","version":2,"refused":"too old"}\n');
    }).listen(socketPath);
    const [code] = await withDeadline('the end of the service', deadlineMs, ended).finally(() => newer.close());
    expect([code, await logged]).toEqual([1, expect.stringContaining('host_version_changed')]);
  } finally {
    service.kill('SIGKILL');
    await host.kill();
    await rm(dataDir, { recursive: true });
  }
}, 300_000);
