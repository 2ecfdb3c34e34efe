import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDnsServer } from '../../../../../test/network/dns-server.ts';
import { goTools, hasGo, jailProgram } from '../../../../../test/network/go-tools.ts';
import { findChild } from '../../../../../test/network/network-lab.ts';
import { RpcChild } from '../../../../../test/network/rpc.ts';
import { cidr } from '../../../ipv4.ts';
import { readProcessIdentity } from '../../jail/proc.ts';
import { ResolverProcess } from './resolver-process.ts';
import { resolverUsers } from './resolver-users.ts';

/** The last of the users, which no host process of this host has before 63 others run. */
const uid = resolverUsers.firstUid + resolverUsers.slots - 1;

/** The gateway of the machine of these tests, in the machine's network namespace. */
const gateway = '127.0.77.1:5377';
const peerPath = fileURLToPath(new URL('../../../../../test/network/peer-worker.ts', import.meta.url));
const nameServers = ['127.0.77.53', '127.0.77.54'] as const;

interface Pids {
  readonly broker: number;
  readonly resolver: number;
}

function statusOf(pid: number): Record<string, string> {
  const lines = readFileSync(`/proc/${pid}/status`, 'utf8').trim().split('\n');
  return Object.fromEntries(lines.map((line) => line.split(/:\s*/, 2) as [string, string]));
}

/** The inodes of a process's sockets. */
function socketsOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    const target = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`));
    return target?.[1] ? [target[1]] : [];
  });
}

/** The sockets at the gateway in the network namespace of a process, as /proc lists them. */
function gatewaySocketsOf(pid: number): { uid: number; inode: string }[] {
  const local = '014D007F:1501';
  return ['udp', 'tcp'].flatMap((protocol) =>
    readFileSync(`/proc/${pid}/net/${protocol}`, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => fields[1] === local && fields[2] === '00000000:0000')
      .map((fields) => ({ uid: Number(fields[7]), inode: fields[9] ?? '' })),
  );
}

describe.runIf(process.getuid?.() === 0 && hasGo())('mayfly-net', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-resolver-'));
  const resolvConfPath = join(folder, 'resolv.conf');
  let helperPath: string;
  /** A program in the machine. It has a network namespace of its own, because the host's table lets resolvers send only to port 53. */
  let machine: RpcChild;
  let helper: ResolverProcess;
  let pids: Pids;

  const useNameServer = (address: string, changedAtSeconds: number): void => {
    writeFileSync(resolvConfPath, `nameserver ${address}\n`);
    utimesSync(resolvConfPath, changedAtSeconds, changedAtSeconds);
  };
  const lookUp = (name: string): Promise<string> => machine.ask('lookup', { name, server: gateway, timeoutMs: 30_000 });
  const gatewaySockets = () => gatewaySocketsOf(machine.pid);
  const add = () => {
    const netns = `/proc/${machine.pid}/ns/net`;
    return helper.request({ op: 'add', slot: 1, netns, listen: gateway, mode: 'all', names: [] });
  };
  const start = async (): Promise<void> => {
    const settings = { jailPath: jailProgram(), uid, resolvConfPath, lookupsPerSecond: 500 };
    helper = new ResolverProcess(helperPath, { ...settings, refusedRanges: [cidr('10.0.0.0/8')] });
    await add();
    const broker = findChild(process.pid, helperPath);
    pids = { broker, resolver: findChild(broker, helperPath) };
  };

  beforeAll(async () => {
    ({ helperPath } = goTools());
    const many = Array.from({ length: 60 }, (_, index) => `203.0.113.${index + 1}`);
    const [first, second] = nameServers;
    await startDnsServer({
      address: first,
      ttlSeconds: 1,
      names: { 'a.test': ['203.0.113.1'], 'mixed.test': ['10.0.0.1', '203.0.113.2'], 'many.test': many },
    });
    await startDnsServer({ address: second, ttlSeconds: 1, names: { 'a.test': ['203.0.113.7'] } });
    useNameServer(first, 1_000);
    const script = 'ip link set lo up && exec "$@"';
    machine = new RpcChild(['unshare', '--net', 'sh', '-euc', script, 'sh', process.execPath, peerPath]);
    // Its first answer means that its network is ready.
    await machine.ask('countedOn', { port: 0 });
    await start();
  });
  afterAll(async () => {
    await helper[Symbol.asyncDispose]();
    await machine.kill();
    rmSync(folder, { recursive: true });
  });

  test('lookups are answered over UDP and TCP, without refused addresses', async () => {
    expect(await lookUp('a.test')).toBe('203.0.113.1');
    expect(await lookUp('mixed.test')).toBe('203.0.113.2');
    expect((await lookUp('many.test')).split(' ')).toHaveLength(60);
    expect(await lookUp('b.test')).toBe('ENOTFOUND');
  });

  test('what reads packets has a user of its own, no capability, no new privileges and a filter for system calls', () => {
    const none = '0'.repeat(16);
    const ids = Array.from({ length: 4 }, () => String(uid)).join('\t');
    const expected = {
      ...{ Uid: ids, Gid: ids, Groups: '', NoNewPrivs: '1', Seccomp: '2' },
      ...{ CapInh: none, CapPrm: none, CapEff: none, CapBnd: none, CapAmb: none },
    };
    console.log(
      'resolver:',
      JSON.stringify(Object.fromEntries(Object.keys(expected).map((name) => [name, statusOf(pids.resolver)[name]]))),
    );
    expect(statusOf(pids.resolver)).toMatchObject(expected);
    expect(readFileSync(`/proc/${pids.resolver}/environ`, 'utf8')).toBe('');
    const limits = readFileSync(`/proc/${pids.resolver}/limits`, 'utf8');
    expect(limits).toMatch(/Max processes +512 +512 /);
    expect(limits).toMatch(/Max data size +1073741824 +1073741824 /);
    expect(limits).toMatch(/Max file size +0 +0 /);
  });

  test('what reads packets sees no file but its own program', () => {
    const root = `/proc/${pids.resolver}/root`;
    const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    expect(files.map(({ parentPath, name }) => join(parentPath, name).slice(root.length))).toEqual([helperPath]);
    expect(readdirSync(join(root, 'dev'))).toEqual([]);
  });

  test('what reads packets has an empty network namespace', () => {
    expect(readlinkSync(`/proc/${pids.resolver}/ns/net`)).not.toBe(readlinkSync('/proc/self/ns/net'));
    expect(readFileSync(`/proc/${pids.resolver}/net/dev`, 'utf8').match(/:/g)).toHaveLength(1);
  });

  test('the sockets of machines belong to the user of the resolver, and root holds none of them', () => {
    const sockets = gatewaySockets();
    expect(sockets.map((socket) => socket.uid)).toEqual([uid, uid]);
    const held = socketsOf(pids.resolver);
    for (const { inode } of sockets) expect(held).toContain(inode);
    const ofRoot = new Set(socketsOf(pids.broker));
    expect(sockets.filter(({ inode }) => ofRoot.has(inode))).toEqual([]);
  });

  test('lookups leave no socket behind', async () => {
    const count = () => ({ broker: socketsOf(pids.broker).length, resolver: socketsOf(pids.resolver).length });
    const before = count();
    for (let round = 0; round < 20; round += 1) await lookUp('a.test');
    await expect.poll(count).toEqual(before);
  });

  test('other name servers of the host are asked from the next lookup on', async () => {
    useNameServer(nameServers[1], 2_000);
    expect(await lookUp('a.test')).toBe('203.0.113.7');
    useNameServer(nameServers[0], 3_000);
    expect(await lookUp('a.test')).toBe('203.0.113.1');
  });

  test('a machine that is removed has no sockets', async () => {
    await helper.request({ op: 'remove', slot: 1 });
    expect(gatewaySockets()).toEqual([]);
    await add();
    expect(await lookUp('a.test')).toBe('203.0.113.1');
  });

  test('a request that fails says why, and the helper goes on', async () => {
    const request = { op: 'add', slot: 2, listen: gateway, mode: 'all', names: [] } as const;
    await expect(helper.request({ ...request, netns: '/nowhere' })).rejects.toThrow(
      'mayfly-net: open /nowhere: no such file or directory',
    );
    await expect(helper.request({ op: 'policy', slot: 3, mode: 'all', names: [], transaction: '' })).rejects.toThrow(
      'slot 3 is not served',
    );
    expect(await lookUp('a.test')).toBe('203.0.113.1');
  });

  test.each(['resolver', 'broker'] as const)(
    'when the %s dies, the other part ends and the next one can listen',
    async (part) => {
      const other = part === 'resolver' ? pids.broker : pids.resolver;
      process.kill(pids[part], 'SIGKILL');
      const output = await helper.exited;
      if (part === 'resolver') expect(output).toContain('signal: killed');
      await expect.poll(() => readProcessIdentity(other)).toBeUndefined();
      await start();
      expect(await lookUp('a.test')).toBe('203.0.113.1');
      expect(gatewaySockets()).toHaveLength(2);
    },
  );

  test('without a jail nothing is served', async () => {
    const settings = { jailPath: '/nowhere', uid, resolvConfPath, lookupsPerSecond: 500, refusedRanges: [] };
    const unconfined = new ResolverProcess(helperPath, settings);
    expect(await unconfined.exited).toContain('/nowhere: no such file or directory');
  });

  test('a helper that does not respond to a new policy in time is killed, so that the policy cannot take effect later', async () => {
    const silentPath = join(folder, 'silent');
    writeFileSync(silentPath, '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
    const settings = { jailPath: jailProgram(), uid, resolvConfPath, lookupsPerSecond: 500, refusedRanges: [] };
    const silent = new ResolverProcess(silentPath, settings, 50);
    await expect(silent.request({ op: 'remove', slot: 1 })).rejects.toThrow('took longer than 50 ms');
    await expect(silent.request({ op: 'policy', slot: 1, mode: 'all', names: [], transaction: '' })).rejects.toThrow(
      'took longer than 50 ms',
    );
    await silent.exited;
  });

  test('a resolver that kept its privileges is refused', async () => {
    // Starts the program itself, without a jail.
    const jailPath = join(folder, 'no-jail');
    writeFileSync(jailPath, `#!/bin/sh\nexec ${helperPath} resolver\n`, { mode: 0o755 });
    const unconfined = new ResolverProcess(helperPath, {
      jailPath,
      uid,
      resolvConfPath,
      lookupsPerSecond: 500,
      refusedRanges: [],
    });
    expect(await unconfined.exited).toMatch(/the resolver is not confined: (Uid|Gid|Groups|Cap\w+) is/);
  });
});
