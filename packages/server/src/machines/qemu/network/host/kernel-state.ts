import { readdir, readFile, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { machineDeadlines } from '../../../../core/ports/machine-deadlines.ts';
import { runProgram } from '../../../../system/run-program.ts';
import { type Cidr, cidr, parseCidr } from '../../../ipv4.ts';
import { linkGroup, netnsDir } from '../plan/address-plan.ts';
import { isRefused } from '../plan/refused-ranges.ts';

/** Runs a program that reads or changes the host's network, with the deadline that all of them have. */
export function runTool(program: string, args: readonly string[], input = ''): Promise<string> {
  return runProgram(program, args, { input, deadlineMs: machineDeadlines.network.programMs });
}

/** Applies an nftables script in one transaction. */
export async function applyRuleset(ruleset: string): Promise<void> {
  await runTool('nft', ['-f', '-'], ruleset);
}

const linksSchema = z.array(z.object({ ifname: z.string().optional() }));

/** The names of Mayfly's links on this host, whichever host process created them. */
export async function listLinks(): Promise<string[]> {
  const json = await runTool('ip', ['-j', 'link', 'show', 'group', String(linkGroup)]);
  return linksSchema.parse(JSON.parse(json || '[]')).flatMap(({ ifname }) => (ifname ? [ifname] : []));
}

const routeSchema = z.object({
  type: z.string().optional(),
  dst: z.string(),
  dev: z.string().optional(),
  nexthops: z.array(z.object({ dev: z.string().optional() })).optional(),
});

/** A unicast or local route of the host. */
export interface Route {
  readonly destination: Cidr;
  readonly devices: readonly string[];
}

const defaultDestination = cidr('0.0.0.0/0');

export async function listRoutes(): Promise<Route[]> {
  return parseRoutes(await runTool('ip', ['-4', '-j', 'route', 'show', 'table', 'all']));
}

/** Parses the output of `ip -4 -j route show table all`. */
export function parseRoutes(json: string): Route[] {
  return z
    .array(routeSchema)
    .parse(JSON.parse(json || '[]'))
    .flatMap(({ type = 'unicast', dst, dev, nexthops = [] }) => {
      const destination = dst === 'default' ? defaultDestination : parseCidr(dst);
      if (!destination || (type !== 'unicast' && type !== 'local')) return [];
      const devices = [dev, ...nexthops.map((hop) => hop.dev)].filter((name) => name !== undefined);
      return [{ destination, devices }];
    });
}

/** The interfaces that lead to addresses a machine may reach. Replies arrive through them. */
export function findUplinks(routes: readonly Route[]): string[] {
  const reachable = routes.filter(({ destination }) => !isRefused(destination));
  return [...new Set(reachable.flatMap(({ devices }) => devices))].filter((name) => name !== 'lo').sort();
}

function forwardingPath(device: string): string {
  return `/proc/sys/net/ipv4/conf/${device}/forwarding`;
}

/** Filters the interfaces on which forwarding is off. Interfaces that do not exist are left out. */
export async function withForwardingOff(devices: readonly string[]): Promise<string[]> {
  const values = await Promise.all(devices.map((device) => readFile(forwardingPath(device), 'utf8').catch(() => '')));
  return devices.filter((_, index) => values[index]?.trim() === '0');
}

/** Whether forwarding is on for the whole host. The operator then wants it on, with or without Mayfly. */
export async function isForwardingEverywhere(): Promise<boolean> {
  return (await readFile('/proc/sys/net/ipv4/ip_forward', 'utf8')).trim() === '1';
}

/** Switches forwarding on one interface. Ignores an interface that no longer exists. */
export async function setForwarding(device: string, isOn: boolean): Promise<void> {
  await writeFile(forwardingPath(device), isOn ? '1' : '0').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

/** How many connections the host can track. The smallest default of any kernel where it cannot be read: the module is not loaded yet. */
export async function readConnectionTableSize(): Promise<number> {
  const text = await readFile('/proc/sys/net/netfilter/nf_conntrack_max', 'utf8').catch(() => '');
  return Number.parseInt(text, 10) || defaultConnectionTableSize;
}

const defaultConnectionTableSize = 65_536;

/** Whether /run/netns is a mount point, as `ip netns add` makes it. */
export async function isNetnsDirMounted(): Promise<boolean> {
  return (await readFile('/proc/self/mountinfo', 'utf8')).split('\n').some((line) => line.split(' ')[4] === netnsDir);
}

/** Makes `ip` mount /run/netns, before several networks are created concurrently. */
export async function mountNetnsDir(): Promise<void> {
  await runTool('ip', ['-batch', '-'], 'netns add mayfly-first\nnetns del mayfly-first\n');
}

/** Unmounts and removes /run/netns, unless it holds a namespace or is in use. */
export async function unmountNetnsDir(): Promise<void> {
  const names = await readdir(netnsDir).catch(() => []);
  if (names.length > 0 || !(await isNetnsDirMounted())) return;
  try {
    await runTool('umount', [netnsDir]);
    await runTool('rmdir', [netnsDir]);
  } catch {
    // Another program has started to use it.
  }
}
