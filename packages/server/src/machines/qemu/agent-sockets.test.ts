import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openAgentChannel } from '../../system/unix-sockets.ts';
import { agentSocketsOf, runFolderOf } from '../protocol/run-folder.ts';
import { AgentSockets } from './agent-sockets.ts';

/** Nobody's group on Debian. A test that does not run as root has no group to give away. */
const gid = process.getuid?.() === 0 ? 65_534 : (process.getgid?.() ?? 0);

let dataDir = '';
const servers: Server[] = [];
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'agent-sockets-'));
});
afterEach(async () => {
  for (const server of servers.splice(0)) server.close();
  await rm(dataDir, { recursive: true });
});

/** A machine's own folder with listening sockets, as the jail makes it. */
async function makeMachine(id: string) {
  const folder = join(dataDir, 'machines', id);
  await mkdir(folder, { recursive: true });
  const sockets = { control: join(folder, 'control'), data: join(folder, 'data') };
  for (const [name, path] of Object.entries(sockets)) {
    const server = createServer((socket) => socket.end(`${name} of ${id}`));
    servers.push(server);
    await once(server.listen(path), 'listening');
  }
  return sockets;
}

async function answersOf(id: string): Promise<string[]> {
  const channel = await openAgentChannel(agentSocketsOf(runFolderOf(dataDir), id));
  const answers: string[] = [];
  for (const socket of [channel.control, channel.data]) {
    for await (const chunk of socket) answers.push(String(chunk));
  }
  return answers;
}

async function modeOf(path: string) {
  const { mode, gid: group } = await stat(path);
  return [mode & 0o777, group];
}

const open = () => AgentSockets.open({ runDir: runFolderOf(dataDir), gid });

it('the service reaches both agent ports of a machine, and only its group may', async () => {
  const sockets = await open();
  await sockets.share('one', await makeMachine('one'));
  expect(await answersOf('one')).toEqual(['control of one', 'data of one']);
  const runDir = runFolderOf(dataDir);
  const { control, data } = agentSocketsOf(runDir, 'one');
  expect(await Promise.all([runDir, join(runDir, 'agents')].map(modeOf))).toEqual([
    [0o710, gid],
    [0o710, gid],
  ]);
  expect(await modeOf(join(runDir, 'agents', 'one'))).toEqual([0o750, gid]);
  expect(await Promise.all([control, data].map(modeOf))).toEqual([
    [0o660, gid],
    [0o660, gid],
  ]);
});

it('sharing again keeps what is there, and replaces what an earlier machine of that id left', async () => {
  const sockets = await open();
  const own = await makeMachine('one');
  await sockets.share('one', own);
  await (await open()).share('one', own);
  expect(await answersOf('one')).toEqual(['control of one', 'data of one']);
  await rm(join(dataDir, 'machines'), { recursive: true });
  await sockets.share('one', await makeMachine('one'));
  expect(await answersOf('one')).toEqual(['control of one', 'data of one']);
});

it('lists and removes what it made, and leaves the machine alone', async () => {
  const sockets = await open();
  for (const id of ['one', 'two']) await sockets.share(id, await makeMachine(id));
  expect((await sockets.list()).sort()).toEqual(['one', 'two']);
  await sockets.remove('one');
  await sockets.remove('one');
  expect(await sockets.list()).toEqual(['two']);
  expect((await readdir(join(dataDir, 'machines', 'one'))).sort()).toEqual(['control', 'data']);
});

it('a data folder whose path is too long for a socket is refused with the setting to change', async () => {
  const long = join(dataDir, 'x'.repeat(90));
  const sockets = await AgentSockets.open({ runDir: long, gid });
  await expect(sockets.share('one', await makeMachine('one'))).rejects.toThrow('Choose a shorter MAYFLY_DATA_DIR.');
});
