import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { MachineNetworksOptions } from '../../src/machines/qemu/network/machine-networks.ts';
import { resolverUsers } from '../../src/machines/qemu/network/resolver/resolver-users.ts';
import type { NetworkLimits } from '../../src/machines/qemu/network/rules/machine-ruleset.ts';
import { goTools, hasGo, jailProgram } from './go-tools.ts';
import { RpcChild } from './rpc.ts';

/** Addresses that respond in the lab's internet although no machine may reach them. */
export const forbiddenAddresses = [
  '0.1.2.3',
  '10.0.0.1',
  '10.213.0.6',
  '100.64.0.1',
  '168.63.129.16',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.254',
  '192.0.0.1',
  '192.0.2.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.19.255.1',
  '240.0.0.1',
];

/** Settings of a host process's networks besides its limits. */
type HostProcessOptions = Pick<MachineNetworksOptions, 'refusedRanges' | 'lookupsPerSecond'>;

/** The lab needs root, and Go to build the helpers. */
export const canOpenNetworkLab = process.getuid?.() === 0 && hasGo();

/** The addresses of the lab's host. */
export const hostAddresses = ['203.0.113.10', '192.168.77.1'];

/**
 * A simulated host in its own namespaces, with an uplink to a simulated internet. It does not affect the real host's network and
 * disappears with its processes.
 */
export class NetworkLab {
  readonly folder = mkdtempSync(join(tmpdir(), 'mayfly-network-'));
  readonly #resolvConfPath = join(this.folder, 'resolv.conf');
  readonly #tools = goTools();
  readonly #jailPath = jailProgram();
  readonly #children: ChildProcess[] = [];
  readonly #rpcs: RpcChild[] = [];
  readonly #keeper: ChildProcess;
  #hostProcesses = 0;

  private constructor() {
    const script = `
      umount -R /run/netns 2>/dev/null || true
      mount -t tmpfs tmpfs /run
      echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
      ip link set lo up
      echo ready
      exec cat`;
    this.#keeper = this.#spawn('unshare', ['--net', '--mount', '--propagation', 'private', 'sh', '-euc', script]);
  }

  /** Opens a lab whose host connects the internet and a private network. Returns one process in each. */
  static async open(): Promise<{ lab: NetworkLab; internet: RpcChild; lan: RpcChild }> {
    const lab = new NetworkLab();
    try {
      return { lab, ...(await lab.#connect()) };
    } catch (error) {
      await lab[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #connect(): Promise<{ internet: RpcChild; lan: RpcChild }> {
    await this.#firstLine(this.#keeper);
    const internet = this.peer();
    const lan = this.peer();
    await internet.ask('listenTcp', { port: 80 });
    await lan.ask('listenTcp', { port: 80 });
    // Without the search for duplicates, which takes a second, addresses of IPv6 are final at once.
    this.sh(`
      sysctl -qw net.ipv6.conf.default.accept_dad=0 || true
      ip link add eth0 type veth peer name wan netns ${internet.pid}
      ip addr add 203.0.113.10/24 dev eth0
      ip link set eth0 up
      ip route add default via 203.0.113.1
      ip link add lan0 type veth peer name eth0 netns ${lan.pid}
      ip addr add 192.168.77.1/24 dev lan0
      ip link set lan0 up
    `);
    this.sh(
      `ip link set lo up
       ip addr add 203.0.113.1/24 dev wan
       ip addr add 203.0.113.2/24 dev wan
       ip addr add 203.0.113.53/24 dev wan
       ip addr add 198.51.100.1/24 dev wan
       ip addr add 198.51.100.2/24 dev wan
       ${forbiddenAddresses.map((address) => `ip addr add ${address}/32 dev lo || true`).join('\n')}
       ip link set wan up`,
      internet.pid,
    );
    this.sh(
      `ip addr add 192.168.77.2/24 dev eth0
       ip link set eth0 up
       ip route add default via 192.168.77.1`,
      lan.pid,
    );
    // The kernel notes later that a link works. What is compared with this state must not change by itself.
    this.sh(`
      for attempt in $(seq 300); do
        [ "$(ip -br link show up | grep -cE '^(eth0|lan0)@[^ ]+ +UP ')" = 2 ] && [ -z "$(ip -6 addr show tentative)" ] && exit 0
        sleep 0.1
      done
      ip -d addr
      exit 1`);
    this.useResolver('203.0.113.53');
    return { internet, lan };
  }

  #spawn(program: string, argv: readonly string[]): ChildProcess {
    const child = spawn(program, argv, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#children.push(child);
    return child;
  }

  async #firstLine(child: ChildProcess): Promise<string> {
    if (!child.stdout) throw new Error('The process has no output.');
    const [line] = await once(createInterface(child.stdout), 'line', { signal: AbortSignal.timeout(5000) });
    return String(line);
  }

  get #enterHost(): string[] {
    return ['-t', String(this.#keeper.pid), '-m', '-n', '--'];
  }

  #rpc(worker: string, ...prefix: readonly string[]): RpcChild {
    const rpc = new RpcChild([
      'nsenter',
      ...this.#enterHost,
      ...prefix,
      process.execPath,
      fileURLToPath(new URL(worker, import.meta.url)),
    ]);
    this.#rpcs.push(rpc);
    return rpc;
  }

  /** Sets the resolver in the host's resolv.conf. */
  useResolver(address: string): void {
    writeFileSync(this.#resolvConfPath, `nameserver ${address}\n`);
  }

  /** Runs a script on the host, or in the network namespace of a process. Returns its output. */
  sh(script: string, pid?: number): string {
    const prefix = pid === undefined ? [] : ['nsenter', '-t', String(pid), '-n', '--'];
    return execFileSync('nsenter', [...this.#enterHost, ...prefix, 'sh', '-eu'], { input: script, encoding: 'utf8' });
  }

  /** A process in a new network namespace. */
  peer(): RpcChild {
    return this.#rpc('./peer-worker.ts', 'unshare', '--net');
  }

  /** A process on the host. */
  hostProgram(): RpcChild {
    return this.#rpc('./peer-worker.ts');
  }

  /** Runs another worker on the host. Takes its absolute path. */
  worker(path: string): RpcChild {
    return this.#rpc(path);
  }

  get resolvConfPath(): string {
    return this.#resolvConfPath;
  }

  /** Starts a host process on the host. */
  async hostProcess(owner = 'one', limits?: NetworkLimits, more: HostProcessOptions = {}): Promise<RpcChild> {
    const hostProcess = this.#rpc('./host-process-worker.ts');
    await hostProcess.ask('open', {
      owner,
      helperPath: this.#tools.helperPath,
      jailPath: this.#jailPath,
      resolverUid: resolverUsers.firstUid + this.#hostProcesses++,
      resolvConfPath: this.#resolvConfPath,
      limits,
      ...more,
    });
    return hostProcess;
  }

  /** The pids of a host process's mayfly-net: the broker, which is root, and its resolver. */
  resolverPids(hostProcess: RpcChild, helperPath = this.#tools.helperPath): { broker: number; resolver: number } {
    const broker = findChild(hostProcess.pid, helperPath);
    return { broker, resolver: findChild(broker, helperPath) };
  }

  /** Connects a guest to a slot's tap, which is opened as the slot's user. */
  async guest(slot: number, uid: number): Promise<RpcChild> {
    const guest = this.peer();
    await guest.ask('connect', { host: '127.0.0.1', port: 1, timeoutMs: 1 });
    const paths = [`/run/netns/mayfly-${slot}`, String(uid), `/proc/${guest.pid}/ns/net`];
    const joined = await this.#firstLine(
      this.#spawn('nsenter', [...this.#enterHost, this.#tools.testguestPath, 'join', ...paths]),
    );
    if (joined !== 'joined') throw new Error(joined);
    this.sh(
      `ip link set lo up
       ip addr add 10.213.0.2/30 dev eth0
       ip link set eth0 up
       ip route add default via 10.213.0.1`,
      guest.pid,
    );
    return guest;
  }

  /** Whether an address answers a ping from the namespace of a process. */
  ping(pid: number, address: string): boolean {
    try {
      this.sh(`${this.#tools.testguestPath} ping ${address}`, pid);
      return true;
    } catch {
      return false;
    }
  }

  /**
   * Opens connections from the namespace of a process and resets each with a packet that ends in the machine's namespace, so that only the
   * host remembers them. Returns how many were opened.
   */
  abandonConnections(pid: number, target: string, count: number): number {
    return Number(this.sh(`${this.#tools.testguestPath} abandon ${target} ${count}`, pid));
  }

  /** Everything on the host that a network could change. */
  snapshot(): string {
    return this.sh(`
      ip -d link | sed 's/^[0-9]*: //' | grep -v '^ *link/'
      ip addr show | grep inet
      ip route show table all
      ip rule
      nft list ruleset
      grep -v ' - proc ' /proc/self/mountinfo | cut -d' ' -f5- | sort
      for file in /proc/sys/net/ipv4/conf/*/forwarding /proc/sys/net/ipv4/ip_forward; do echo "$file $(cat $file)"; done
      ls /run/netns 2>/dev/null || true
    `);
  }

  /** Kills every process of the lab. Its namespaces disappear with them. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#rpcs.map((rpc) => rpc.kill()));
    for (const child of this.#children) {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The child of a process that runs a program. In the resolver's own root the program has the same path. */
export function findChild(parent: number, program: string): number {
  const lists = readdirSync(`/proc/${parent}/task`).map((thread) => `/proc/${parent}/task/${thread}/children`);
  const children = lists.flatMap((path) => readFileSync(path, 'utf8').split(' ')).filter(Boolean);
  const found = children.find((pid) => existsSync(`/proc/${pid}/exe`) && readlinkSync(`/proc/${pid}/exe`) === program);
  if (!found) throw new Error(`Process ${parent} has no child that runs ${program}.`);
  return Number(found);
}
