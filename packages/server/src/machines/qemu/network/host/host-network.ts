import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../../../core/ports/log.ts';
import { type Cidr, cidr } from '../plan/ipv4.ts';
import { takeLock, tryLock, withLock } from './lock-file.ts';
import type { Problem } from './problem.ts';
import { type HostState, setUpHost } from './set-up.ts';
import { takeDownHost } from './take-down.ts';

/** How often the host is looked at again: a firewall may have been reloaded, Docker started, an uplink replaced. */
const mendEveryMs = 10_000;

/** This service's share in the host's set-up. Services on one host share the table, the range and the record. */
export class HostNetwork {
  /** Where link addresses come from. */
  readonly range: Cidr;
  readonly #stateDir: string;
  readonly #log: Log;
  readonly #leave: () => Promise<void>;
  readonly #timer: NodeJS.Timeout;
  #mending: Promise<unknown> = Promise.resolve();
  #problems: readonly Problem[] = [];

  private constructor(stateDir: string, log: Log, leave: () => Promise<void>, state: HostState) {
    this.range = cidr(state.record.range);
    this.#stateDir = stateDir;
    this.#log = log;
    this.#leave = leave;
    this.#note(state.problems);
    this.#timer = setInterval(() => {
      this.mend().catch((error: unknown) => this.#log.error({ error }, 'network_mend_failed'));
    }, mendEveryMs).unref();
  }

  /** Sets the host up, or joins the set-up that is there. */
  static async open(stateDir: string, log: Log): Promise<HostNetwork> {
    await mkdir(stateDir, { recursive: true, mode: 0o700 });
    const leave = await takeLock(usersLockPath(stateDir), 'shared');
    try {
      return new HostNetwork(stateDir, log, leave, await setUp(stateDir));
    } catch (error) {
      await leave();
      await takeDownUnusedHost(stateDir);
      throw error;
    }
  }

  /** What keeps machines from the network, as of the last look. */
  get problems(): readonly Problem[] {
    return this.#problems;
  }

  /** Looks at the host and sets up what is missing. */
  mend(): Promise<void> {
    const mending = this.#mending.then(async () => this.#note((await setUp(this.#stateDir)).problems));
    this.#mending = mending.catch(() => {});
    return mending;
  }

  #note(problems: readonly Problem[]): void {
    const known = new Set(this.#problems.map(({ what }) => what));
    for (const { what, remedy } of problems) {
      if (!known.has(what)) this.#log.warn({ what, remedy }, 'network_problem');
    }
    this.#problems = problems;
  }

  /** Leaves the set-up; the last user takes it down when no machine's link is left. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#mending;
    await this.#leave();
    await takeDownUnusedHost(this.#stateDir);
  }
}

const usersLockPath = (stateDir: string): string => join(stateDir, 'network.users');
const hostLockPath = (stateDir: string): string => join(stateDir, 'network.lock');
const hostRecordPath = (stateDir: string): string => join(stateDir, 'network.json');

const setUp = (stateDir: string): Promise<HostState> =>
  withLock(hostLockPath(stateDir), () => setUpHost(hostRecordPath(stateDir)));

/** Takes the host's set-up down when no service uses it and no machine's link is left. Returns whether it did. */
export const takeDownUnusedHost = (stateDir: string): Promise<boolean> =>
  withLock(hostLockPath(stateDir), async () => {
    const leave = await tryLock(usersLockPath(stateDir));
    if (!leave) return false;
    try {
      return await takeDownHost(hostRecordPath(stateDir));
    } finally {
      await leave();
    }
  });
