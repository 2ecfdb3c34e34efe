import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { hostCapabilities, hostCapabilityMask, parseCapabilitySets } from '#server/machines/qemu/host-capabilities.ts';
import { instanceOf } from '#server/machines/qemu/owners/owner-records.ts';
import { threadStatuses } from '#server-test/confinement/confined.ts';
import { createSandbox, output } from '../support/api-requests.ts';
import { machinePids } from '../support/machine-processes.ts';
import {
  isNetworkSocket,
  type Socket,
  socketHolders,
  socketInodesOf,
  socketsIn,
  uidOf,
} from '../support/process-sockets.ts';
import { type ServiceProcess, useServiceProcesses } from '../support/service-process.ts';
import type { ServiceData } from '../support/service-settings.ts';
import { childrenOf, commandOf } from '../support/supervised-processes.ts';

/** How many networks a host process prepares in advance. */
const networksAhead = 2;

const processes = useServiceProcesses();
let service: ServiceProcess;
let data: ServiceData;
/** The processes that this service consists of, by what they are. */
let pids: Record<'supervisor' | 'launcher' | 'service' | 'host' | 'broker' | 'resolver' | 'qemu', number>;

/** Asks the machine's resolver for a name, and prints the code of its answer, whatever it is: no name server may be reachable here. */
const lookup = `python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(60); s.connect(("10.213.0.1", 53))
s.send(b"\\x12\\x34\\x01\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x03one\\x07example\\x00\\x00\\x01\\x00\\x01")
answer = s.recv(512); print(answer[:2].hex(), answer[3] & 15)'`;

beforeAll(async () => {
  data = await processes.newData();
  service = await processes.start(data);
  const { id } = await createSandbox(service);
  const [echoed, code] = (await output(service, id, lookup)).split(' ');
  expect(echoed).toBe('1234');
  console.log(`the resolver answered a lookup of the machine (response code ${code})`);
  pids = await findProcesses(id);
});

/** In how many network namespaces of machines the resolver listens. */
function listeningNamespaces(): number {
  const own = new Set(socketInodesOf(pids.resolver));
  return machineNamespaces().filter((path) =>
    safely(() => socketsIn(path).filter(({ inode }) => own.has(inode)).length === 2),
  ).length;
}

async function findProcesses(machineId: string): Promise<typeof pids> {
  const supervisor = service.child.pid;
  const { host, service: ownPid } = service.processes;
  const launcher = childrenOf(supervisor ?? 0).find((pid) => childrenOf(pid).includes(ownPid ?? 0));
  const broker = childrenOf(host ?? 0).find((pid) => commandOf(pid).includes('-resolv-conf'));
  const resolver = descendantsOf(broker ?? 0).find((pid) => uidOf(pid) !== 0);
  const qemu = (await machinePids(data.dataDir)).get(machineId);
  const found = { supervisor, launcher, service: ownPid, host, broker, resolver, qemu };
  expect(Object.entries(found).filter(([, pid]) => pid === undefined)).toEqual([]);
  return found as typeof pids;
}

function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}

/** What all threads of a process have in common of their user, privileges and filter. */
function privilegesOf(pid: number) {
  const threads = threadStatuses(pid).map((status) => ({
    uids: status.Uid?.split('\t').map(Number),
    gids: status.Gid?.split('\t').map(Number),
    groups: status.Groups?.trim(),
    capabilities: [status.CapInh, status.CapPrm, status.CapEff, status.CapBnd, status.CapAmb],
    noNewPrivs: status.NoNewPrivs,
    seccomp: status.Seccomp,
  }));
  const [first] = threads;
  expect(threads).toEqual(threads.map(() => first));
  return { ...first, threads: threads.length };
}

it.each(['service', 'resolver'] as const)('the %s has no privilege, from /proc', (name) => {
  const { uids = [], gids = [], ...others } = privilegesOf(pids[name]);
  console.log(`${name}: ${JSON.stringify({ uids, gids, ...others })}`);
  expect([uids, gids]).toEqual([Array(4).fill(uids[0]), Array(4).fill(gids[0])]);
  expect(Math.min(...uids, ...gids)).toBeGreaterThan(0);
  const none = '0'.repeat(16);
  expect(others).toMatchObject({ groups: '', capabilities: Array(5).fill(none), noNewPrivs: '1', seccomp: '2' });
});

it('the host process has exactly the documented capabilities, from /proc', () => {
  const sets = parseCapabilitySets(readFileSync(`/proc/${pids.host}/status`, 'utf8'));
  const ownSets = parseCapabilitySets(readFileSync('/proc/self/status', 'utf8'));
  const listed = hostCapabilityMask(ownSets.CapBnd ?? '0');
  const names = Object.entries(hostCapabilities)
    .filter(([, { bit }]) => (BigInt(`0x${listed}`) >> BigInt(bit)) % 2n === 1n)
    .map(([name]) => name);
  console.log(`host: ${JSON.stringify(sets)}: ${names.join(', ')}`);
  const none = '0'.repeat(16);
  expect(sets).toEqual({ CapInh: none, CapPrm: listed, CapEff: listed, CapBnd: listed, CapAmb: none });
  expect(privilegesOf(pids.host).capabilities).toEqual([none, listed, listed, listed, none]);
});

it('the service is in a cgroup of its own, alone with its launcher', () => {
  const group = `/mayfly/processes/service-${instanceOf(data.dataDir)}`;
  const groupsOf = (pid: number) => readFileSync(`/proc/${pid}/cgroup`, 'utf8').trim().split('\n');
  const own = groupsOf(pids.service).filter((line) => line.endsWith(group));
  console.log(`cgroups of the service: ${own.join(' ')}`);
  expect(own.length).toBeGreaterThan(0);
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== pids.service);
  const others = all.filter((pid) => safely(() => groupsOf(Number(pid)).some((line) => line.endsWith(group))));
  expect(others.map(Number)).toEqual([pids.launcher]);
});

/** Processes of the host come and go while they are looked at. */
function safely(look: () => boolean): boolean {
  try {
    return look();
  } catch {
    return false;
  }
}

/** The network namespaces of the machines of this service, and of those that it prepared. */
function machineNamespaces(): string[] {
  const folder = '/run/mayfly/networks';
  return readdirSync(folder)
    .filter((file) => readFileSync(join(folder, file), 'utf8').includes(data.dataDir))
    .map((file) => `/run/netns/mayfly-${file.replace('.json', '')}`);
}

it('nothing that listens on TCP or UDP runs as root', async () => {
  // Until the networks of the next machines are ready too: while one is made, the broker has its sockets in its hands.
  await expect.poll(() => listeningNamespaces()).toBe(1 + networksAhead);
  const holders = socketHolders();
  const own = new Set(Object.values(pids).flatMap((pid) => [pid, ...descendantsOf(pid)]));
  const machines = machineNamespaces();
  expect(machines.length).toBeGreaterThan(0);
  const byNamespace = new Map([
    ...[...own].map((pid) => [readlinkSync(`/proc/${pid}/ns/net`), `/proc/${pid}/ns/net`] as const),
    ...machines.map((path) => [`net:[${statSync(path).ino}]`, path] as const),
  ]);
  const hostNamespace = readlinkSync('/proc/self/ns/net');
  const found = [...byNamespace].flatMap(([name, path]) =>
    socketsIn(path)
      .filter((socket) => socket.listens && isNetworkSocket(socket))
      .map((socket) => ({ ...socket, path, holders: holders.get(socket.inode) ?? [] }))
      // In the host's namespace, others listen too.
      .filter((socket) => name !== hostNamespace || socket.holders.some((pid) => own.has(pid))),
  );
  const lines = found.map(
    ({ kind, local, path, holders: held }) =>
      `  ${kind} ${local} in ${path}: ${held.map((pid) => `uid ${uidOf(pid)}`).join(', ')}`,
  );
  console.log(`listening in ${byNamespace.size} network namespaces:\n${lines.join('\n')}`);
  const heldBy = (pid: number) => found.filter((socket) => socket.holders.includes(pid));
  expect(heldBy(pids.service).filter(({ kind }) => kind.startsWith('tcp')).length).toBeGreaterThanOrEqual(2);
  const resolverPorts = heldBy(pids.resolver).map(({ kind, local }) => `${kind} ${local}`);
  expect(resolverPorts).toEqual(expect.arrayContaining(['tcp 10.213.0.1:53', 'udp 10.213.0.1:53']));
  expect(found.filter((socket) => socket.holders.length === 0)).toEqual([]);
  expect(found.filter((socket) => socket.holders.some((pid) => uidOf(pid) === 0))).toEqual([]);
});

it('no root process has a network socket, and the host process listens on one unix socket', () => {
  const sockets = new Map<string, Socket>();
  for (const name of ['supervisor', 'host', 'broker'] as const) {
    for (const socket of socketsIn(`/proc/${pids[name]}/ns/net`)) sockets.set(socket.inode, socket);
  }
  const socketsOf = (pid: number) => socketInodesOf(pid).map((inode) => sockets.get(inode) ?? inode);
  const ofRoot = (['supervisor', 'host', 'broker'] as const).map((name) => {
    const held = socketsOf(pids[name]);
    const kinds = held.map((socket) => (typeof socket === 'string' ? 'unknown' : socket.kind));
    return { name, uid: uidOf(pids[name]), kinds: [...new Set(kinds)].toSorted() };
  });
  const listening = socketsOf(pids.host).flatMap((socket) =>
    typeof socket === 'string' || !socket.listens ? [] : [socket.local],
  );
  console.log(
    `sockets of root's processes: ${JSON.stringify(ofRoot)}; the host process listens on ${listening.join()}`,
  );
  for (const { name, uid, kinds } of ofRoot) {
    expect([name, uid, kinds.filter((kind) => kind !== 'unix' && kind !== 'netlink')]).toEqual([name, 0, []]);
  }
  const path = join(data.dataDir, 'run/host.sock');
  expect(listening).toEqual([path]);
  const { uid, gid, mode } = statSync(path);
  expect([uid, gid, mode & 0o777]).toEqual([0, privilegesOf(pids.service).gids?.[0], 0o660]);
});
