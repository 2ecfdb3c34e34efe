import { availableParallelism } from 'node:os';
import type { FastifyBaseLogger } from 'fastify';
import { cachedAccounts } from '../core/accounts/cached-accounts.ts';
import { Capacity } from '../core/admission/capacity.ts';
import { type Core, type Deadlines, defaultDeadlines } from '../core/context.ts';
import { randomIds } from '../core/ids/random-ids.ts';
import { endUnowned } from '../core/machines/end-unowned.ts';
import { MachineRegistry } from '../core/machines/registry.ts';
import { Teardowns } from '../core/machines/teardowns.ts';
import { measuredStore } from '../core/metrics/measured-store.ts';
import { makePooledMachine } from '../core/pool/make-machine.ts';
import { Pool } from '../core/pool/pool.ts';
import { RestoreGate } from '../core/pool/restore-gate.ts';
import { type Clock, systemClock } from '../core/ports/clock.ts';
import type { GuestConnector } from '../core/ports/guest-agent.ts';
import type { MachineDriver } from '../core/ports/machine-driver.ts';
import { type Metrics, noMetrics } from '../core/ports/metrics.ts';
import type { Store } from '../core/ports/store/store.ts';
import { PreviewTraffic } from '../core/previews/traffic.ts';
import { Creations } from '../core/sandboxes/creations.ts';
import { BackgroundTasks } from '../core/scheduling/background-tasks.ts';
import { RateWindows } from '../core/windows/rate-windows.ts';
import type { Config } from './config.ts';
import { probeHost } from './host-probe.ts';

export interface CoreParts {
  readonly config: Pick<Config, 'dataDir' | 'limits' | 'prices' | 'maxMachines' | 'pool' | 'headroom'>;
  readonly store: Store;
  readonly driver: MachineDriver;
  readonly connector: GuestConnector;
  readonly log: FastifyBaseLogger;
  /** Nothing is counted when absent. */
  readonly metrics?: Metrics | undefined;
  readonly clock?: Clock | undefined;
  readonly deadlines?: Partial<Deadlines> | undefined;
}

/** The rules and everything they need. Starts nothing. */
export function assembleCore(parts: CoreParts, accepting: () => boolean): Core {
  const { config, driver, connector, log, metrics = noMetrics } = parts;
  const { limits, prices, maxMachines = Number.POSITIVE_INFINITY, headroom } = config;
  const deadlines = { ...defaultDeadlines, ...parts.deadlines };
  const clock = parts.clock ?? systemClock;
  const machines = new MachineRegistry(connector, deadlines.attachMs);
  const host = probeHost(config.dataDir);
  const capacity = new Capacity({ maxMachines, headroom, host, existing: () => machines.ids(), metrics });
  const core: Core = {
    store: withCachedKeys(measuredStore(parts.store, metrics), clock),
    driver,
    connector,
    machines,
    creations: new Creations(),
    background: new BackgroundTasks(),
    clock,
    ids: randomIds,
    log,
    metrics,
    deadlines,
    limits,
    prices,
    windows: new RateWindows(limits, clock),
    capacity,
    restores: new RestoreGate(Math.max(availableParallelism(), 2)),
    pool: new Pool({
      targets: config.pool,
      make: (size, signal) => makePooledMachine(core, size, signal),
      end: (live) => endUnowned(core, live),
      hasRoom: (idle, size) => capacity.hasRoomBeside(idle, size),
      log,
      metrics,
    }),
    teardowns: new Teardowns(() => metrics.teardownRetried()),
    previewTraffic: new PreviewTraffic(),
    executing: new Set(),
    accepting,
  };
  return core;
}

function withCachedKeys(store: Store, clock: Clock): Store {
  const { sandboxes, executions, ledger, previews, retention, owner } = store;
  return {
    accounts: cachedAccounts(store.accounts, clock),
    sandboxes,
    executions,
    ledger,
    previews,
    retention,
    owner,
    close: () => store.close(),
  };
}
