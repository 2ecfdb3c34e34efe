import type { Limits, SizeName } from '@mayfly/contract';
import type { Capacity } from './admission/capacity.ts';
import type { MachineRegistry } from './machines/registry.ts';
import type { Teardowns } from './machines/teardowns.ts';
import type { Pool } from './pool/pool.ts';
import type { RestoreGate } from './pool/restore-gate.ts';
import type { Clock } from './ports/clock.ts';
import type { GuestConnector } from './ports/guest-agent.ts';
import type { Ids } from './ports/ids.ts';
import type { Log } from './ports/log.ts';
import type { MachineDriver } from './ports/machine-driver.ts';
import type { Metrics } from './ports/metrics.ts';
import type { Store } from './ports/store/store.ts';
import type { PreviewTraffic } from './previews/traffic.ts';
import type { Creations } from './sandboxes/creations.ts';
import type { BackgroundTasks } from './scheduling/background-tasks.ts';
import type { RateWindows } from './windows/rate-windows.ts';

/** How long the steps of a sandbox's life may take, in milliseconds. */
export interface Deadlines {
  readonly launchMs: number;
  readonly attachMs: number;
  /** How long a delete waits for the machine to be gone before it answers 202. */
  readonly teardownMs: number;
}

export const defaultDeadlines: Deadlines = { launchMs: 60_000, attachMs: 60_000, teardownMs: 10_000 };

/** Everything the use cases need. */
export interface Core {
  readonly store: Store;
  readonly driver: MachineDriver;
  readonly connector: GuestConnector;
  readonly machines: MachineRegistry;
  readonly creations: Creations;
  readonly background: BackgroundTasks;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly deadlines: Deadlines;
  readonly limits: Limits;
  /** In millionths of a dollar per hour; copied into each sandbox at its creation. */
  readonly prices: Readonly<Record<SizeName, number>>;
  readonly windows: RateWindows;
  readonly capacity: Capacity;
  readonly restores: RestoreGate;
  readonly pool: Pool;
  readonly teardowns: Teardowns;
  readonly previewTraffic: PreviewTraffic;
  /** The executions that this process sees to their end. */
  readonly executing: Set<string>;
  /** Whether new sandboxes are taken: false while starting and stopping. */
  accepting(): boolean;
}
