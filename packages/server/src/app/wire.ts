import type { FastifyBaseLogger } from 'fastify';
import { Background } from '../core/background/background.ts';
import { type Core, type Deadlines, defaultDeadlines } from '../core/context.ts';
import { randomIds } from '../core/ids/random-ids.ts';
import { MachineRegistry } from '../core/machines/registry.ts';
import { type Clock, systemClock } from '../core/ports/clock.ts';
import type { GuestConnector } from '../core/ports/guest-agent.ts';
import type { MachineDriver } from '../core/ports/machine-driver.ts';
import type { Store } from '../core/ports/store.ts';
import { Creations } from '../core/sandboxes/creations.ts';
import { buildHttp } from '../http/build-http.ts';
import type { HttpApp, Readiness } from '../http/http-app.ts';

export interface Parts {
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
  const core: Core = {
    store: parts.store,
    driver: parts.driver,
    connector: parts.connector,
    machines: new MachineRegistry(parts.connector, deadlines.attachMs),
    creations: new Creations(),
    background: new Background(),
    clock: parts.clock ?? systemClock,
    ids: randomIds,
    log: parts.log,
    deadlines,
    accepting: () => wired.readiness === 'ready',
  };
  const app = buildHttp({
    core,
    log: parts.log,
    publicUrl: () => wired.publicUrl,
    readiness: () => wired.readiness,
  });
  const wired: Wired = { core, app, publicUrl: 'http://localhost', readiness: 'starting' };
  return wired;
}
