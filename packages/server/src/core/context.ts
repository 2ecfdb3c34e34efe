import type { Limits, SizeName } from '@mayfly/contract';
import type { Capacity, HeadroomRules } from './admission/capacity.ts';
import type { AuditTrail } from './audit/audit-trail.ts';
import type { Budgets } from './budgets/budgets.ts';
import type { Launcher } from './machines/launcher.ts';
import type { MachineRegistry } from './machines/registry.ts';
import type { Teardowns } from './machines/teardowns.ts';
import type { Pool } from './pool/pool.ts';
import type { MachineDriver } from './ports/machine-driver.ts';
import type { Metrics } from './ports/metrics.ts';
import type { Clock, DiskBallast, HostProbe, Ids, Log } from './ports/runtime.ts';
import type { Store } from './ports/store/store.ts';
import type { PreviewTraffic } from './previews/preview-traffic.ts';
import type { CreatesInFlight } from './sandboxes/creates-in-flight.ts';
import type { BackgroundTasks } from './scheduling/background-tasks.ts';
import type { Due } from './scheduling/due.ts';
import type { FairQueue } from './scheduling/fair-queue.ts';
import type { FairTurns } from './scheduling/fair-turns.ts';
import type { KeyedLock } from './scheduling/keyed-lock.ts';
import type { SavesInFlight } from './snapshots/saves-in-flight.ts';
import type { RateWindows } from './windows/rate-windows.ts';

/** How long the steps of a sandbox's life may take, in milliseconds. */
export interface Deadlines {
  readonly launchMs: number;
  readonly attachMs: number;
  /** How long a delete waits for the teardown before it answers 202. */
  readonly teardownMs: number;
  /** How long saving a machine may take, including the time it waits for its turn; also how long a rollback waits for it. */
  readonly saveMs: number;
}

export const defaultDeadlines: Deadlines = {
  launchMs: 60_000,
  attachMs: 60_000,
  teardownMs: 10_000,
  saveMs: 20 * 60_000,
};

/** The adapters that every use case may call. */
interface CorePorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly host: HostProbe;
  readonly ballast: DiskBallast;
  /** The snapshots on disk. */
  readonly snapshots: Pick<MachineDriver, 'snapshots' | 'deleteSnapshot'>;
}

/** What the operator configured. */
interface CoreSettings {
  readonly limits: Limits;
  /** In millionths of a dollar per hour; copied into each sandbox when it is created. */
  readonly prices: Readonly<Record<SizeName, number>>;
  /** In millionths of a dollar per GiB and 30 days; copied into each snapshot when it is taken. */
  readonly snapshotPriceMicroUsdPerGbMonth: number;
  readonly deadlines: Deadlines;
  readonly headroom: HeadroomRules;
}

interface ReplacementInFlight {
  readonly size: SizeName;
  /** Cancels the launch. */
  readonly abort: AbortController;
}

/** What lives only in this process. */
interface CoreState {
  readonly machines: MachineRegistry;
  readonly launcher: Launcher;
  readonly pool: Pool;
  readonly teardowns: Teardowns;
  readonly capacity: Capacity;
  readonly createsInFlight: CreatesInFlight;
  readonly savesInFlight: SavesInFlight;
  /** Ids of the snapshots that this process saves or makes copies of. Recovery leaves them alone. */
  readonly snapshotsInFlight: Set<string>;
  /** Whether the records of snapshots have to be compared with the files. */
  readonly snapshotsChanged: Due;
  /** Work that a machine does one at a time, such as being saved or replaced, by the id of its sandbox. */
  readonly machineLocks: KeyedLock;
  /** Ids of the executions that this process runs or recovers. */
  readonly executionsInFlight: Set<string>;
  /** The machines that are launched to take the place of others, by id, until they serve their sandbox. */
  readonly replacementsInFlight: Map<string, ReplacementInFlight>;
  readonly previewTraffic: PreviewTraffic;
  readonly windows: RateWindows;
  readonly budgets: Budgets;
  /** Turns of requests, of operations on the database that write or read output, and of saves, by account. */
  readonly turns: { readonly requests: FairTurns; readonly database: FairTurns; readonly saves: FairQueue };
  readonly audit: AuditTrail;
  readonly background: BackgroundTasks;
}

/** Everything the use cases need. */
export interface Core extends CorePorts, CoreSettings, CoreState {}
