import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConfinedFolders, confinedFolders, confinedPid, exitCodeOf } from '../../test/confinement/confined.ts';
import {
  type Attempt,
  copyProbe,
  forbiddenAttempts,
  leastForbiddenAttempts,
  type ProbeTargets,
  parseAttempts,
  runProbe,
} from '../../test/confinement/probe.ts';
import { hasGo, jailProgram, probeProgram } from '../../test/network/go-tools.ts';
import { serviceConfinement } from './spec.ts';
import { startConfined } from './start-confined.ts';

/** What the same user can do without the confinement: the probe notices when something is possible. */
const possibleOutside = [
  'read a template',
  'read the database of another data folder',
  'connect to the host process of another data folder',
  'connect to an abstract socket',
  'signal another service',
  'start a process (fork)',
];

describe.runIf(process.getuid?.() === 0 && hasGo())('a program that is started exactly as the service', () => {
  let folders: ConfinedFolders;
  let targets: ProbeTargets;
  let attempts: Attempt[] = [];
  let outside: Attempt[] = [];
  const servers: Server[] = [];
  const processes: ChildProcess[] = [];

  async function listenOn(path: string, mode: number, gid: number): Promise<string> {
    const server = createServer((socket) => socket.destroy()).listen(path);
    servers.push(server);
    await once(server, 'listening');
    if (!path.startsWith('\0')) {
      await chmod(path, mode);
      await chown(path, 0, gid);
    }
    return path.replace('\0', '@');
  }

  beforeAll(async () => {
    folders = await confinedFolders();
    const { base, user, dataDir, serviceDir, runDir } = folders;
    const other = await folders.makeDataFolder('other');
    const file = async (path: string, mode: number, uid = 0): Promise<string> => {
      await mkdir(join(path, '..'), { recursive: true });
      await writeFile(path, 'secret');
      await chmod(path, mode);
      await chown(path, uid, uid === 0 ? 0 : user.gid);
      return path;
    };
    const probe = await copyProbe(base);
    const setuid = await copyProbe(base, 'setuid', 0o6755);

    const plan = folders.plan([]);
    // Another service of the same user, and one of root's processes.
    const wait = ['-e', 'console.log("ready"); setInterval(() => {}, 1000)'];
    const neighbour = startConfined(jailProgram(), serviceConfinement({ ...plan, argv: wait }), { stdout: 'pipe' });
    processes.push(neighbour);
    if (neighbour.stdout) await once(neighbour.stdout, 'data');

    // As QEMU runs.
    const foreign = spawn('setpriv', ['--reuid=2100300', '--regid=2100300', '--clear-groups', 'sleep', '600']);
    processes.push(foreign);

    targets = {
      read: {
        'a file of root': await file(join(base, 'root/secret'), 0o600),
        'a template': await file(join(base, 'cache/template-small/ram'), 0o444),
        'the disk of a machine': await file(join(dataDir, 'machines/one/disk'), 0o666),
        'the operator’s key': await file(join(base, 'tls/privkey.pem'), 0o600),
        'the database of another data folder': await file(join(other.serviceDir, 'mayfly.db'), 0o600, user.uid),
        'the folder of machines': join(dataDir, 'machines'),
      },
      write: {
        'its own code': join(plan.checkout, 'packages/server/package.json'),
        'its packages': join(plan.checkout, 'node_modules/new'),
        Node: process.execPath,
        'the folder of sockets': join(runDir, 'new'),
        'the database of another data folder': join(other.serviceDir, 'mayfly.db'),
        'a template': join(base, 'cache/template-small/ram'),
        'a setuid program': setuid,
      },
      connect: {
        'a socket of root': await listenOn(join(runDir, 'root.sock'), 0o660, 0),
        'the monitor of a machine': await listenOn(join(dataDir, 'machines/one/qmp'), 0o666, 0),
        'the host process of another data folder': await listenOn(join(other.runDir, 'host.sock'), 0o660, user.gid),
        'an abstract socket': await listenOn(`\0confined-${process.pid}`, 0, 0),
      },
      processes: {
        'another service': confinedPid(neighbour),
        'the parent of another service': neighbour.pid,
        'a root process': process.pid,
        'a process of another user': foreign.pid,
      },
      setuid,
      allowed: { folder: serviceDir, socket: await listenOn(join(runDir, 'host.sock'), 0o660, user.gid) },
    };
    attempts = await runProbe(jailProgram(), serviceConfinement(plan), probe, targets);

    const ids = [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'];
    const only = JSON.stringify({ ...targets, only: possibleOutside });
    const unconfined = spawn('setpriv', [...ids, probe, only], { stdio: ['ignore', 'pipe', 'inherit'] });
    processes.push(unconfined);
    outside = parseAttempts(await text(unconfined.stdout));
  });

  afterAll(async () => {
    for (const child of processes) child.kill('SIGKILL');
    await Promise.all(processes.map(exitCodeOf));
    for (const server of servers) server.close();
    await folders?.[Symbol.asyncDispose]();
  });

  it('can do what the service needs', () => {
    const needed = attempts.filter(({ mustWork }) => mustWork);
    expect(needed.length).toBeGreaterThanOrEqual(7);
    expect(needed.filter(({ refused }) => refused)).toEqual([]);
  });

  it('is refused everything else, on this host', () => {
    const others = forbiddenAttempts(attempts);
    expect(others.length).toBeGreaterThan(leastForbiddenAttempts);
    expect(others.filter(({ refused }) => !refused)).toEqual([]);
    const lines = others.map(({ attempt, detail }) => `  ${attempt}: ${detail}`);
    process.stdout.write(`${others.length} attempts of a confined program, all refused:\n${lines.join('\n')}\n`);
  });

  it('gains nothing from a setuid program', () => {
    const ran = attempts.find(({ attempt }) => attempt === 'gain privileges from a setuid program');
    expect(ran?.detail).toContain(`uid ${folders.user.uid}, gid ${folders.user.gid}`);
  });

  it('could do some of it without the confinement, so the attempts are real', () => {
    expect(outside.map(({ attempt, refused }) => ({ attempt, refused }))).toEqual(
      expect.arrayContaining(possibleOutside.map((attempt) => ({ attempt, refused: false }))),
    );
  });

  it('does not run as root', () => {
    const { status, stderr } = spawnSync(probeProgram(), ['{}'], { encoding: 'utf8' });
    expect(status).toBe(2);
    expect(stderr).toContain('does not run as root');
  });
});
