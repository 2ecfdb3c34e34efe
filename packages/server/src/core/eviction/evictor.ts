import type { HeadroomRules } from '../admission/capacity.ts';
import { advance } from '../lifecycle/advance.ts';
import type { Pool } from '../pool/pool.ts';
import { HostUnavailable } from '../ports/machine-driver.ts';
import type { DiskBallast, HostProbe, HostStats } from '../ports/runtime.ts';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';
import { type TeardownNeeds, teardownByDeadline } from '../sandboxes/end.ts';
import { withDeadline } from '../scheduling/deadline.ts';
import { type Candidate, chooseVictim, type Shortage, shortagesOf, type Victim } from './choose-victim.ts';

/** How often one check may evict before it gives other work a turn. */
const maxEvictionsPerCheck = 100;

/** How long sandboxes stay when the disk runs short during a save: the host process cancels saves first, which gives their space back. */
const cancelledSaveMs = 10_000;

/** The ballast is released when less than this share of its size is free. */
const releaseShare = 1 / 8;

/** What eviction needs. */
export interface EvictionNeeds extends TeardownNeeds {
  readonly host: HostProbe;
  readonly ballast: DiskBallast;
  readonly headroom: HeadroomRules;
  readonly pool: Pool;
  /** Ids of the snapshots that are being saved or copied. */
  readonly snapshotsInFlight: ReadonlySet<string>;
}

interface Eviction {
  readonly sandbox: SandboxRecord;
  readonly reason: string;
}

/** Ends sandboxes, one at a time, while the host runs out of memory or disk. Between checks it remembers only what it could not record. */
export class Evictor {
  readonly #core: EvictionNeeds;
  /** Sandboxes whose machines are gone, but whose end the database could not store yet. */
  readonly #unrecorded = new Map<string, Eviction>();
  /** When the present disk shortage was first met during a save. */
  #savingSinceMs: number | undefined;
  #reported = '';
  #ballastFailed = false;

  constructor(core: EvictionNeeds) {
    this.#core = core;
  }

  /** Measures the host and evicts until it has enough. Call it often: a guest can write a gigabyte in a second. */
  async check(): Promise<void> {
    for (let evictions = 0; evictions < maxEvictionsPerCheck; evictions += 1) {
      const stats = this.#core.host.stats();
      await this.#keepBallast(stats);
      for (const eviction of this.#unrecorded.values()) await this.#record(eviction);
      const shortages = shortagesOf(stats, this.#core.headroom);
      this.#report(shortages, stats);
      if (!shortages.includes('disk')) this.#savingSinceMs = undefined;
      if (!(await this.#relieveOne(shortages))) return;
    }
  }

  /** Releases the ballast when next to nothing is left: any earlier, the sandbox that fills the disk would take it. Holds it again once there is room for it. */
  async #keepBallast({ diskFreeBytes }: HostStats): Promise<void> {
    const { ballast, headroom, log } = this.#core;
    if (ballast.isHeld && diskFreeBytes < ballast.sizeBytes * releaseShare) {
      await ballast.release();
      log.error({ disk_free_bytes: diskFreeBytes }, 'disk_ballast_released');
      return;
    }
    const hasRoom = diskFreeBytes > 2 * headroom.diskReserveBytes + ballast.sizeBytes;
    if (ballast.isHeld || !hasRoom || this.#ballastFailed) return;
    await ballast.hold().catch((err: unknown) => {
      this.#ballastFailed = true;
      log.warn({ err }, 'disk_ballast_failed');
    });
  }

  /** Logs the beginning and the end of a shortage once. */
  #report(shortages: readonly Shortage[], stats: HostStats): void {
    if (shortages.join() === this.#reported) return;
    this.#reported = shortages.join();
    const { log } = this.#core;
    const measured = {
      disk_free_bytes: stats.diskFreeBytes,
      memory_available_bytes: stats.memoryAvailableBytes,
      service_bytes: stats.serviceBytes,
      machines_memory_left_bytes: stats.machinesMemoryLeftBytes,
    };
    if (shortages.length === 0) log.info(measured, 'host_shortage_ended');
    else log.warn({ shortages, ...measured }, 'host_shortage_began');
  }

  /** Makes room once. False if nothing could be done, or nothing is short. */
  async #relieveOne(shortages: readonly Shortage[]): Promise<boolean> {
    try {
      for (const shortage of shortages) if (await this.#relieve(shortage)) return true;
    } catch (error) {
      // Nobody can measure or end a machine until the host process is back.
      if (!(error instanceof HostUnavailable)) throw error;
    }
    return false;
  }

  async #relieve(shortage: Shortage): Promise<boolean> {
    const { pool, store } = this.#core;
    if (shortage === 'disk' && this.#isWaitingForSaves()) return false;
    // Machines that serve nobody yet go first.
    if (shortage === 'memory' && (await pool.evictAll()) > 0) return true;
    const running = await store.sandboxes.withStatus(['running']);
    const victim = chooseVictim(shortage, await this.#candidates(running));
    const sandbox = running.find(({ id }) => id === victim?.sandboxId);
    if (victim === undefined || sandbox === undefined) return false;
    await this.#evict(sandbox, victim, shortage);
    // A teardown that is stuck gives nothing back yet: the next check measures again before another sandbox ends.
    return this.#core.machines.find(sandbox.id) === undefined;
  }

  /** Whether saves in progress may still give their space back. */
  #isWaitingForSaves(): boolean {
    const { snapshotsInFlight, clock } = this.#core;
    if (snapshotsInFlight.size === 0) return false;
    this.#savingSinceMs ??= clock.nowMs();
    return clock.nowMs() - this.#savingSinceMs < cancelledSaveMs;
  }

  async #candidates(running: readonly SandboxRecord[]): Promise<Candidate[]> {
    const { machines } = this.#core;
    const served = running.flatMap((sandbox) => {
      const live = machines.find(sandbox.id);
      return live === undefined || live.isLost ? [] : [{ sandbox, live }];
    });
    return await Promise.all(
      served.map(async ({ sandbox, live }) => ({
        sandboxId: sandbox.id,
        accountId: sandbox.accountId,
        ...(await live.machine.usage()),
      })),
    );
  }

  async #evict(sandbox: SandboxRecord, { reason }: Victim, shortage: Shortage): Promise<void> {
    const { log, metrics, machines, deadlines } = this.#core;
    log.warn({ sandbox_id: sandbox.id, account_id: sandbox.accountId, shortage, reason }, 'sandbox_evicted');
    metrics.sandboxEvicted(shortage);
    const eviction = { sandbox, reason };
    if (await this.#record(eviction)) return;
    log.error({ sandbox_id: sandbox.id, account_id: sandbox.accountId }, 'eviction_not_recorded');
    // The database cannot write, perhaps because the disk is full: first the machine has to go.
    this.#unrecorded.set(sandbox.id, eviction);
    await withDeadline('the end of the machine', deadlines.teardownMs, machines.destroy(sandbox.id)).catch(() => {});
    await this.#record(eviction);
  }

  /** Stores why the sandbox ended and tears it down. False if the database does not take it. */
  async #record({ sandbox, reason }: Eviction): Promise<boolean> {
    try {
      const { sandbox: ended } = await advance(this.#core, sandbox, { kind: 'evicted', reason });
      this.#unrecorded.delete(sandbox.id);
      await teardownByDeadline(this.#core, ended);
      return true;
    } catch (err) {
      // Every check tries again, so a line for each would fill the log.
      this.#core.log.debug({ sandbox_id: sandbox.id, account_id: sandbox.accountId, err }, 'eviction_recording_failed');
      return false;
    }
  }
}
