import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../../../core/ports/runtime.ts';
import { takeLock, tryLock, withLock } from '../../../../system/lock-file.ts';
import { type Cidr, cidr } from '../../../ipv4.ts';
import type { HostProblem } from '../check-support.ts';
import { type HostState, setUpHost, takeDownHost } from './host-setup.ts';

/** How often the host's set-up is checked: a firewall may be reloaded, Docker started, an uplink replaced. */
export const repairEveryMs = 10_000;

export interface HostNetworkOptions {
  /** State that all host processes of the host share. */
  readonly stateDir: string;
  /** The most connections that the host tracks for one machine; derived from the size of its table when absent. */
  readonly connections: number | undefined;
  readonly log: Log;
}

/** This host process's use of the host's network set-up, which all host processes of the host share. */
export class HostNetwork implements AsyncDisposable {
  /** The range of link addresses. */
  readonly range: Cidr;
  readonly #stateDir: string;
  readonly #connections: number | undefined;
  readonly #log: Log;
  readonly #usersLock: Disposable;
  readonly #timer: NodeJS.Timeout;
  #repairing: Promise<void> = Promise.resolve();
  #knownProblems: readonly HostProblem[] = [];

  private constructor({ stateDir, connections, log }: HostNetworkOptions, usersLock: Disposable, state: HostState) {
    this.range = cidr(state.record.range);
    this.#stateDir = stateDir;
    this.#connections = connections;
    this.#log = log;
    this.#usersLock = usersLock;
    this.#report(state.problems);
    this.#timer = setInterval(() => void this.repair(), repairEveryMs).unref();
  }

  /** Sets up the host, or joins the set-up of another host process. */
  static async open(options: HostNetworkOptions): Promise<HostNetwork> {
    const { stateDir, connections } = options;
    await mkdir(stateDir, { recursive: true, mode: 0o700 });
    const usersLock = await takeLock(usersLockPath(stateDir), 'shared');
    try {
      return new HostNetwork(options, usersLock, await setUp(stateDir, connections));
    } catch (error) {
      usersLock[Symbol.dispose]();
      await takeDownUnusedHost(stateDir);
      throw error;
    }
  }

  /** Checks the host's set-up and restores what is missing. A failure is logged; never rejects. */
  repair(): Promise<void> {
    this.#repairing = this.#repairing
      .then(async () => this.#report((await setUp(this.#stateDir, this.#connections)).problems))
      .catch((err: unknown) => this.#log.error({ err }, 'network_repair_failed'));
    return this.#repairing;
  }

  /** Logs each problem once, when it appears. */
  #report(problems: readonly HostProblem[]): void {
    const known = new Set(this.#knownProblems.map(({ what }) => what));
    for (const { what, remedy } of problems) {
      if (!known.has(what)) this.#log.warn({ what, remedy }, 'network_problem');
    }
    this.#knownProblems = problems;
  }

  /** Leaves the set-up. The last host process takes it down if no machine's link is left. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#repairing;
    this.#usersLock[Symbol.dispose]();
    await takeDownUnusedHost(this.#stateDir);
  }
}

/** Takes the host's set-up down if there is one, no host process uses it, and no machine's link is left. */
export async function takeDownUnusedHost(stateDir: string): Promise<void> {
  if (!existsSync(stateDir)) return;
  await withLock(hostLockPath(stateDir), async () => {
    using usersLock = tryLock(usersLockPath(stateDir), 'exclusive');
    if (usersLock) await takeDownHost(hostRecordPath(stateDir));
  });
}

function setUp(stateDir: string, connections: number | undefined): Promise<HostState> {
  return withLock(hostLockPath(stateDir), () => setUpHost(hostRecordPath(stateDir), connections));
}

/** Every host process holds this lock shared as long as it uses the host's network. */
function usersLockPath(stateDir: string): string {
  return join(stateDir, 'network.users');
}

function hostLockPath(stateDir: string): string {
  return join(stateDir, 'network.lock');
}

function hostRecordPath(stateDir: string): string {
  return join(stateDir, 'network.json');
}
