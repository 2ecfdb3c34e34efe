import { open } from 'node:fs/promises';
import { cidr } from '../../ipv4.ts';
import { runTool } from './host/kernel-state.ts';
import { planSlot } from './plan/address-plan.ts';
import { hostRuleset } from './rules/host-ruleset.ts';
import { defaultNetworkLimits, machineRuleset } from './rules/machine-ruleset.ts';

/** Something about this host that prevents machines from running or from reaching the network. */
export interface HostProblem {
  /** What is wrong: a sentence without its full stop. */
  readonly what: string;
  /** What the operator can do about it. */
  readonly remedy: string;
}

const packageOfTool: Readonly<Record<string, string>> = {
  ip: 'iproute2',
  tc: 'iproute2',
  nft: 'nftables',
  conntrack: 'conntrack',
  nsenter: 'util-linux',
  unshare: 'util-linux',
};

/** Everything that prevents this host from giving machines a network. Changes nothing on the host. */
export async function checkNetworkSupport(tunPath?: string): Promise<HostProblem[]> {
  const problems = [...(await findMissingTools()), ...(await checkTunDevice(tunPath))];
  if (problems.length > 0) return problems;
  for (const { script, what, remedy } of kernelTrials()) {
    const failure = await runTool('unshare', ['--net', 'sh', '-eu'], script).catch((error: unknown) => error);
    if (failure instanceof Error) problems.push({ what: `${what} (${failure.message})`, remedy });
  }
  return problems;
}

/** Checks that tap devices can be opened. */
export async function checkTunDevice(path = '/dev/net/tun'): Promise<HostProblem[]> {
  const device = await open(path, 'r+').catch((error: NodeJS.ErrnoException) => error);
  if (device instanceof Error) {
    const remedy = `modprobe tun; if it is still missing: mkdir -p /dev/net && mknod ${path} c 10 200`;
    return [{ what: `${path} cannot be opened (${device.code})`, remedy }];
  }
  await device.close();
  return [];
}

/** Checks that a network namespace can be created. Reports nothing if `unshare` is not installed. */
export async function checkNamespaceSupport(): Promise<HostProblem[]> {
  const failure = await runTool('unshare', ['--net', 'true']).catch((error: unknown) => error);
  if (!(failure instanceof Error) || isNotInstalled(failure)) return [];
  return [{ what: `${namespaceProblem.what} (${failure.message})`, remedy: namespaceProblem.remedy }];
}

function isNotInstalled({ cause }: Error): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
}

async function findMissingTools(): Promise<HostProblem[]> {
  const tools = Object.keys(packageOfTool);
  const missing = await Promise.all(
    tools.map((tool) => runTool('sh', ['-c', `command -v ${tool}`]).then(...([() => [], () => [tool]] as const))),
  );
  return missing
    .flat()
    .map((tool) => ({ what: `"${tool}" is not installed`, remedy: `apt-get install ${packageOfTool[tool]}` }));
}

const namespaceProblem: HostProblem = {
  what: 'The kernel cannot create a network namespace',
  remedy: 'run Mayfly as root, outside of containers, on a kernel with CONFIG_NET_NS',
};

/** A script that is run in a temporary namespace, and the problem it stands for if it fails. */
interface KernelTrial extends HostProblem {
  readonly script: string;
}

const addTap = 'ip tuntap add tap0 mode tap user 65534\n';

function kernelTrials(): KernelTrial[] {
  const range = cidr('198.19.192.0/19');
  const { hostAddress } = planSlot(0, range);
  return [
    { script: 'true', ...namespaceProblem },
    {
      script: `ip link add mf0 type veth peer name up0\nip addr add ${hostAddress}/31 dev mf0\n`,
      what: 'The kernel does not support veth interfaces',
      remedy: kernelRemedy('CONFIG_VETH'),
    },
    { script: addTap, what: 'The kernel does not support tap interfaces', remedy: kernelRemedy('CONFIG_TUN') },
    {
      script: `${addTap}nft -f - <<'END'\n${machineRuleset(defaultNetworkLimits)}END\n`,
      what: 'The kernel rejects the nftables rules of a machine',
      remedy: kernelRemedy('nf_tables (inet, netdev, nat, masquerade, reject, fib, limit, connlimit, conntrack)'),
    },
    {
      script: `nft -f - <<'END'\n${hostRuleset({ range, guardedUplinks: [], connectionsPerMachine: 1 })}END\n`,
      what: 'The kernel rejects the nftables rules of the host',
      remedy: kernelRemedy('nf_tables (inet, nat, masquerade, reject, fib, connlimit, conntrack with timeouts)'),
    },
    {
      script: 'conntrack -L >/dev/null',
      what: 'The kernel does not let conntrack list connections',
      remedy: kernelRemedy('CONFIG_NF_CT_NETLINK'),
    },
    {
      script: `${addTap}tc qdisc add dev tap0 root tbf rate 1mbit burst 16kb latency 50ms`,
      what: 'The kernel cannot limit bandwidth',
      remedy: kernelRemedy('CONFIG_NET_SCH_TBF'),
    },
  ];
}

function kernelRemedy(options: string): string {
  return `use a kernel with ${options}, or load its modules. If the running kernel was upgraded on disk, reboot first: it cannot load modules`;
}
