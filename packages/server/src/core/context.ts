import type { Background } from './background/background.ts';
import type { MachineRegistry } from './machines/registry.ts';
import type { Clock } from './ports/clock.ts';
import type { GuestConnector } from './ports/guest-agent.ts';
import type { Ids } from './ports/ids.ts';
import type { Log } from './ports/log.ts';
import type { MachineDriver } from './ports/machine-driver.ts';
import type { Store } from './ports/store.ts';
import type { Creations } from './sandboxes/creations.ts';

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
  readonly background: Background;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly deadlines: Deadlines;
  /** Whether new sandboxes are taken: false while starting and stopping. */
  accepting(): boolean;
}
