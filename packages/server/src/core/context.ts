import type { Limits, SizeName } from '@mayfly/contract';
import type { Capacity, HeadroomRules } from './admission/capacity.ts';
import type { AuditTrail } from './audit/audit-trail.ts';
import type { Budgets } from './budgets/budgets.ts';
import type { Launcher } from './machines/launcher.ts';
import type { MachineRegistry } from './machines/registry.ts';
import type { Teardowns } from './machines/teardowns.ts';
import type { Pool } from './pool/pool.ts';
import type { Metrics } from './ports/metrics.ts';
import type { Clock, DiskBallast, HostProbe, Ids, Log } from './ports/runtime.ts';
import type { Store } from './ports/store/store.ts';
import type { PreviewTraffic } from './previews/preview-traffic.ts';
import type { CreatesInFlight } from './sandboxes/creates-in-flight.ts';
import type { BackgroundTasks } from './scheduling/background-tasks.ts';
import type { FairTurns } from './scheduling/fair-turns.ts';
import type { RateWindows } from './windows/rate-windows.ts';

/** How long the steps of a sandbox's life may take, in milliseconds. */
export interface Deadlines {
  readonly launchMs: number;
  readonly attachMs: number;
  /** How long a delete waits for the teardown before it answers 202. */
  readonly teardownMs: number;
}

export const defaultDeadlines: Deadlines = { launchMs: 60_000, attachMs: 60_000, teardownMs: 10_000 };

/** The adapters that every use case may call. */
interface CorePorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly host: HostProbe;
  readonly ballast: DiskBallast;
}

/** What the operator configured. */
interface CoreSettings {
  readonly limits: Limits;
  /** In millionths of a dollar per hour; copied into each sandbox when it is created. */
  readonly prices: Readonly<Record<SizeName, number>>;
  readonly deadlines: Deadlines;
  readonly headroom: HeadroomRules;
}

/** What lives only in this process. */
interface CoreState {
  readonly machines: MachineRegistry;
  readonly launcher: Launcher;
  readonly pool: Pool;
  readonly teardowns: Teardowns;
  readonly capacity: Capacity;
  readonly createsInFlight: CreatesInFlight;
  /** Ids of the executions that this process runs or recovers. */
  readonly executionsInFlight: Set<string>;
  readonly previewTraffic: PreviewTraffic;
  readonly windows: RateWindows;
  readonly budgets: Budgets;
  /** Turns of requests, and of operations on the database that write or read output, by account. */
  readonly turns: { readonly requests: FairTurns; readonly database: FairTurns };
  readonly audit: AuditTrail;
  readonly background: BackgroundTasks;
}

/** Everything the use cases need. */
export interface Core extends CorePorts, CoreSettings, CoreState {}
