import { defineOperations } from '@mayfly/contract';
import type { FastifyBaseLogger } from 'fastify';
import { cachedAccounts } from '../core/accounts/cached-accounts.ts';
import { Capacity } from '../core/admission/capacity.ts';
import { Background } from '../core/background/background.ts';
import { type Core, type Deadlines, defaultDeadlines } from '../core/context.ts';
import { randomIds } from '../core/ids/random-ids.ts';
import { MachineRegistry } from '../core/machines/registry.ts';
import { type Clock, systemClock } from '../core/ports/clock.ts';
import type { GuestConnector } from '../core/ports/guest-agent.ts';
import type { MachineDriver } from '../core/ports/machine-driver.ts';
import type { Store } from '../core/ports/store/store.ts';
import { Creations } from '../core/sandboxes/creations.ts';
import { RateWindows } from '../core/windows/rate-windows.ts';
import { buildHttp } from '../http/build-http.ts';
import type { HttpApp, Readiness } from '../http/http-app.ts';
import type { Config } from './config.ts';
import { previewUrlOf } from './preview-url.ts';

export interface Parts {
  readonly config: Pick<Config, 'limits' | 'prices' | 'maxMachines' | 'previewDomain' | 'previewPort' | 'trustProxy'>;
  readonly store: Store;
  readonly driver: MachineDriver;
  readonly connector: GuestConnector;
  readonly log: FastifyBaseLogger;
  readonly clock?: Clock | undefined;
  readonly deadlines?: Partial<Deadlines> | undefined;
}

/** The service put together, before it does anything. */
export interface Wired {
  readonly core: Core;
  readonly app: HttpApp;
  /** Where callers reach it; set it once that is known. */
  publicUrl: string;
  readiness: Readiness;
}

/** Puts the parts together. Opens, starts and listens to nothing. */
export function wire(parts: Parts): Wired {
  const deadlines = { ...defaultDeadlines, ...parts.deadlines };
  const { limits, prices, maxMachines, previewDomain, previewPort, trustProxy } = parts.config;
  const clock = parts.clock ?? systemClock;
  const machines = new MachineRegistry(parts.connector, deadlines.attachMs);
  const core: Core = {
    store: withCachedKeys(parts.store, clock),
    driver: parts.driver,
    connector: parts.connector,
    machines,
    creations: new Creations(),
    background: new Background(),
    clock,
    ids: randomIds,
    log: parts.log,
    deadlines,
    limits,
    prices,
    windows: new RateWindows(limits, clock),
    capacity: new Capacity(maxMachines ?? Number.POSITIVE_INFINITY, () => machines.ids()),
    accepting: () => wired.readiness === 'ready',
  };
  const app = buildHttp({
    core,
    log: parts.log,
    operations: defineOperations(limits),
    trustProxy,
    previewUrl: previewUrlOf(previewDomain, previewPort),
    publicUrl: () => wired.publicUrl,
    readiness: () => wired.readiness,
  });
  const wired: Wired = { core, app, publicUrl: 'http://localhost', readiness: 'starting' };
  return wired;
}

function withCachedKeys(store: Store, clock: Clock): Store {
  const { sandboxes, executions, ledger, previews } = store;
  return {
    accounts: cachedAccounts(store.accounts, clock),
    sandboxes,
    executions,
    ledger,
    previews,
    close: () => store.close(),
  };
}
