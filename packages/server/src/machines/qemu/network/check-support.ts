import { open } from 'node:fs/promises';
import { run } from './host/command.ts';
import type { Problem } from './host/problem.ts';
import { planSlot } from './plan/address-plan.ts';
import { defaultCeilings } from './plan/ceilings.ts';
import { linkRangeCandidates } from './plan/link-range.ts';
import { hostRuleset } from './rules/host-ruleset.ts';
import { machineRuleset } from './rules/machine-ruleset.ts';

const packageOfTool: Readonly<Record<string, string>> = {
  ip: 'iproute2',
  tc: 'iproute2',
  nft: 'nftables',
  nsenter: 'util-linux',
  unshare: 'util-linux',
  flock: 'util-linux',
};

/** What is tried in a namespace that goes away again, and what it means when it fails. */
interface Trial extends Problem {
  readonly script: string;
}

const kernelRemedy = (options: string): string =>
  `use a kernel with ${options}, or load its modules (a running kernel that was upgraded on disk cannot load any: reboot)`;

const namespaceProblem: Problem = {
  what: 'the kernel refuses a new network namespace',
  remedy: 'run the service as root, outside of containers, on a kernel with CONFIG_NET_NS',
};

const isNotInstalled = ({ cause }: Error): boolean =>
  cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';

const tap = 'ip tuntap add tap0 mode tap user 65534\n';

const trials = (): Trial[] => {
  const [range] = linkRangeCandidates;
  const hostRules = range ? hostRuleset({ range, guardedUplinks: [] }) : '';
  const { hostAddress } = planSlot(0, range ?? { base: 0, prefixLength: 19 });
  return [
    { script: 'true', ...namespaceProblem },
    {
      script: `ip link add mf0 type veth peer name up0\nip addr add ${hostAddress}/31 dev mf0\n`,
      what: 'the kernel has no veth interfaces',
      remedy: kernelRemedy('CONFIG_VETH'),
    },
    { script: tap, what: 'the kernel makes no tap interfaces', remedy: kernelRemedy('CONFIG_TUN') },
    {
      script: `${tap}nft -f - <<'END'\n${machineRuleset(defaultCeilings)}END\n`,
      what: 'the kernel refuses the nftables rules of a machine',
      remedy: kernelRemedy('nf_tables (inet, netdev, nat, masquerade, reject, fib, limit, connlimit, conntrack)'),
    },
    {
      script: `nft -f - <<'END'\n${hostRules}END\n`,
      what: 'the kernel refuses the nftables rules of the host',
      remedy: kernelRemedy('nf_tables (inet, nat, masquerade, reject, fib, conntrack)'),
    },
    {
      script: `${tap}tc qdisc add dev tap0 root tbf rate 1mbit burst 16kb latency 50ms`,
      what: 'the kernel cannot limit bandwidth',
      remedy: kernelRemedy('CONFIG_NET_SCH_TBF'),
    },
  ];
};

const findMissingTools = async (): Promise<Problem[]> => {
  const tools = Object.keys(packageOfTool);
  const missing = await Promise.all(
    tools.map((tool) => run('sh', ['-c', `command -v ${tool}`]).then(...([() => [], () => [tool]] as const))),
  );
  return missing
    .flat()
    .map((tool) => ({ what: `"${tool}" is not installed`, remedy: `apt-get install ${packageOfTool[tool]}` }));
};

/** Whether taps can be made at all. */
export const checkTunDevice = async (path = '/dev/net/tun'): Promise<Problem[]> => {
  const device = await open(path, 'r+').catch((error: NodeJS.ErrnoException) => error);
  if (device instanceof Error) {
    const remedy = `modprobe tun; if it is still missing: mkdir -p /dev/net && mknod ${path} c 10 200`;
    return [{ what: `${path} cannot be opened (${device.code})`, remedy }];
  }
  await device.close();
  return [];
};

/** Whether a network namespace can be made. Says nothing where the tool to try it with is missing. */
export const checkNamespaceSupport = async (): Promise<Problem[]> => {
  const failure = await run('unshare', ['--net', 'true']).catch((error: unknown) => error);
  if (!(failure instanceof Error) || isNotInstalled(failure)) return [];
  return [{ what: `${namespaceProblem.what} (${failure.message})`, remedy: namespaceProblem.remedy }];
};

/** Everything that keeps this host from giving machines a network, with the remedy; empty when all is well. Changes nothing. */
export const checkNetworkSupport = async (tunPath?: string): Promise<Problem[]> => {
  const problems = [...(await findMissingTools()), ...(await checkTunDevice(tunPath))];
  if (problems.length > 0) return problems;
  for (const { script, what, remedy } of trials()) {
    const failure = await run('unshare', ['--net', 'sh', '-eu'], script).catch((error: unknown) => error);
    if (failure instanceof Error) problems.push({ what: `${what} (${failure.message})`, remedy });
  }
  return problems;
};
