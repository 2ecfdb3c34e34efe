import { randomBytes } from 'node:crypto';
import { readFileSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';
import { fixedLimits } from '@mayfly/contract';
import type { FastifyBaseLogger } from 'fastify';
import type { AdminNeeds } from '../admin/admin-routes.ts';
import { cachedAccounts } from '../core/accounts/cached-accounts.ts';
import { KeyUses } from '../core/accounts/key-uses.ts';
import { Tickets } from '../core/accounts/tickets.ts';
import { Capacity } from '../core/admission/capacity.ts';
import { AuditTrail } from '../core/audit/audit-trail.ts';
import { type BudgetSettings, createBudgets } from '../core/budgets/budgets.ts';
import { Places } from '../core/budgets/places.ts';
import { AccountChanges } from '../core/changes/account-changes.ts';
import { observedStore } from '../core/changes/observed-store.ts';
import type { EvictionNeeds } from '../core/eviction/evictor.ts';
import { ExecutionsInFlight } from '../core/executions/in-flight.ts';
import { OpenStreams } from '../core/executions/live/open-streams.ts';
import { randomIds } from '../core/ids/random-ids.ts';
import { Launcher, launchConcurrency } from '../core/machines/launcher.ts';
import { MachineRegistry } from '../core/machines/registry.ts';
import { Teardowns } from '../core/machines/teardowns.ts';
import { makePooledMachine } from '../core/pool/make-machine.ts';
import { type MachineSource, Pool, type PooledTemplate } from '../core/pool/pool.ts';
import type { GuestConnector } from '../core/ports/guest-agent.ts';
import { type Deadlines, machineDeadlines } from '../core/ports/machine-deadlines.ts';
import type { MachineDriver } from '../core/ports/machine-driver.ts';
import { type Metrics, noMetrics } from '../core/ports/metrics.ts';
import { type Clock, type DiskBallast, type HostProbe, systemClock } from '../core/ports/runtime.ts';
import type { Screens } from '../core/ports/screens.ts';
import type { Store } from '../core/ports/store/store.ts';
import { PreviewTraffic } from '../core/previews/preview-traffic.ts';
import type { AdoptNeeds } from '../core/recovery/adopt-machines.ts';
import type { ReconcileNeeds } from '../core/recovery/reconcile.ts';
import type { RetentionNeeds } from '../core/recovery/retention.ts';
import { CreatesInFlight } from '../core/sandboxes/creates-in-flight.ts';
import type { ReplacementInFlight, StopNeeds } from '../core/sandboxes/end.ts';
import { BackgroundTasks } from '../core/scheduling/background-tasks.ts';
import { Due } from '../core/scheduling/due.ts';
import { FairQueue } from '../core/scheduling/fair-queue.ts';
import { FairTurns } from '../core/scheduling/fair-turns.ts';
import { KeyedLock } from '../core/scheduling/keyed-lock.ts';
import { Attempts } from '../core/sign-in/attempts.ts';
import { Passwords, type ScryptCost } from '../core/sign-in/passwords.ts';
import { SecretBox, secretKeyBytes } from '../core/sign-in/secret-box.ts';
import { SessionConnections } from '../core/sign-in/session-connections.ts';
import type { KeepSnapshotsNeeds } from '../core/snapshots/recover.ts';
import { SavesInFlight } from '../core/snapshots/saves-in-flight.ts';
import { Terminals } from '../core/terminals/terminals.ts';
import { RateWindows } from '../core/windows/rate-windows.ts';
import type { GatewayNeeds } from '../gateway/gateway-context.ts';
import type { ApiNeeds } from '../http/app.ts';
import { maxSavesInFlight } from '../machines/protocol/messages.ts';
import { createScreens } from '../screens/worker-screens.ts';
import type { BootstrapNeeds } from './bootstrap-account.ts';
import type { GaugeNeeds } from './build-api.ts';
import type { Config } from './config.ts';

/** A small request takes about 0.3 ms. A write to SQLite waits for the disk, and output of 2 MiB takes as long to read: 1 to 3 ms. */
const requestsPerTurn = 16;
const operationsPerTurn = 4;
/** The sandboxes of an account rarely need more together. Each costs a waiting call. */
export const backgroundCommandsPerAccount = 640;
/** Records and files of snapshots are compared this often even if nothing is known to have changed. */
export const snapshotCheckMs = 30_000;

/** Everything that the servers and the background work of the service need, in one object: each of them is given it as the slice that it names. */
export type Core = ApiNeeds &
  GaugeNeeds &
  GatewayNeeds &
  AdminNeeds &
  BootstrapNeeds &
  AdoptNeeds &
  ReconcileNeeds &
  KeepSnapshotsNeeds &
  RetentionNeeds &
  EvictionNeeds &
  StopNeeds & { readonly keyUses: KeyUses };

export interface CoreParts {
  readonly config: Pick<
    Config,
    | 'dataDir'
    | 'limits'
    | 'prices'
    | 'snapshotPriceMicroUsdPerGbMonth'
    | 'maxMachines'
    | 'pool'
    | 'poolTemplates'
    | 'headroom'
  >;
  readonly store: Store;
  readonly driver: MachineDriver;
  readonly connector: GuestConnector;
  readonly log: FastifyBaseLogger;
  /** Whether new sandboxes are accepted: false while the service starts and stops. */
  readonly isAccepting: () => boolean;
  /** The host of this process when absent. */
  readonly host?: HostProbe | undefined;
  /** Nothing is held back when absent. */
  readonly ballast?: DiskBallast | undefined;
  /** Nothing is measured when absent. */
  readonly metrics?: Metrics | undefined;
  readonly clock?: Clock | undefined;
  /** Emulated by a thread of this process when absent. */
  readonly screens?: Screens | undefined;
  readonly deadlines?: Partial<Deadlines> | undefined;
  readonly budgets?: Partial<BudgetSettings> | undefined;
  /** What secrets in the database are sealed with; a new key when absent. */
  readonly secretKey?: Buffer | undefined;
  readonly passwordCost?: ScryptCost | undefined;
}

/** Builds the core out of its adapters and settings. Starts nothing. */
export function assembleCore(parts: CoreParts): Core {
  const { config, driver, connector, log, isAccepting, metrics = noMetrics, clock = systemClock } = parts;
  const { limits, prices, maxMachines = Number.POSITIVE_INFINITY, headroom } = config;
  const deadlines = { ...machineDeadlines.service, ...parts.deadlines };
  const host = parts.host ?? probeHost(config.dataDir, driver);
  const background = new BackgroundTasks();
  const machines = new MachineRegistry(connector, deadlines.attachMs);
  const createsInFlight = new CreatesInFlight(background);
  const replacementsInFlight = new Map<string, ReplacementInFlight>();
  const snapshotsInFlight = new Set<string>();
  const capacity = new Capacity({
    maxMachines,
    headroom,
    host,
    isAccepting,
    isHostAvailable: () => driver.isAvailable(),
    existing: () => machines.sandboxIds(),
    admitted: () => {
      const replacements = [...replacementsInFlight].map(([id, { size }]) => [id, size] as const);
      return new Map([...createsInFlight.admitted(), ...replacements]);
    },
    metrics,
  });
  const launcher = new Launcher({ driver, metrics, concurrency: launchConcurrency(), deadlineMs: deadlines.launchMs });
  const teardowns = new Teardowns({ background, log, metrics });
  const pool = new Pool({
    targets: config.pool,
    templates: config.poolTemplates,
    findTemplate: (template) => findTemplate(parts.store, template),
    make: (source, signal) => makePooledMachine({ launcher, machines, teardowns, ids: randomIds }, source, signal),
    destroy: (live) => teardowns.destroyOrphan(live),
    requireRoom: (pooledMachines, size) => capacity.requireRoomInPool(pooledMachines, size),
    log,
    metrics,
  });
  const keyUses = new KeyUses({ accounts: parts.store.accounts, clock, log });
  const changes = new AccountChanges();
  const store = decorateStore(parts.store, { changes, clock, keyUses });
  return {
    store,
    clock,
    ids: randomIds,
    log,
    metrics,
    host,
    ballast: parts.ballast ?? noBallast,
    snapshots: driver,
    limits,
    prices,
    snapshotPriceMicroUsdPerGbMonth: config.snapshotPriceMicroUsdPerGbMonth,
    deadlines,
    headroom,
    machines,
    launcher,
    pool,
    teardowns,
    capacity,
    createsInFlight,
    savesInFlight: new SavesInFlight(background, snapshotsInFlight),
    snapshotsInFlight,
    snapshotsChanged: new Due(snapshotCheckMs),
    machineLocks: new KeyedLock(),
    executionsInFlight: new ExecutionsInFlight(),
    streams: new OpenStreams(),
    changes,
    terminals: new Terminals(),
    screens: parts.screens ?? createScreens(),
    backgroundCommands: new Places({
      perSandbox: fixedLimits.backgroundCommandsPerSandbox,
      perAccount: backgroundCommandsPerAccount,
    }),
    replacementsInFlight,
    previewTraffic: new PreviewTraffic(),
    windows: new RateWindows(limits, clock),
    tickets: new Tickets(clock),
    passwords: new Passwords(parts.passwordCost),
    secrets: new SecretBox(parts.secretKey ?? randomBytes(secretKeyBytes)),
    attempts: new Attempts(clock),
    connections: new SessionConnections(),
    keyUses,
    budgets: createBudgets(parts.budgets),
    turns: {
      requests: new FairTurns(requestsPerTurn),
      database: new FairTurns(operationsPerTurn),
      saves: new FairQueue(maxSavesInFlight),
    },
    audit: new AuditTrail({ store, clock, ids: randomIds, log }),
    background,
  };
}

/** The snapshot with the template's alias, as long as its account may use it. */
async function findTemplate(
  { accounts, snapshots }: Pick<Store, 'accounts' | 'snapshots'>,
  { email, alias }: PooledTemplate,
): Promise<MachineSource | undefined> {
  const account = await accounts.findByEmail(email);
  if (account === undefined || account.suspended) return undefined;
  const snapshot = await snapshots.findByAlias(account.id, alias);
  return snapshot && { size: snapshot.size, snapshotId: snapshot.id };
}

interface StoreReaders {
  readonly changes: AccountChanges;
  readonly clock: Clock;
  readonly keyUses: KeyUses;
}

/** The store with a cache of keys, telling which records change and which keys are used. */
function decorateStore(store: Store, { changes, clock, keyUses }: StoreReaders): Store {
  const { executions, ledger, previews, audit, signIns, retention, owner } = store;
  const { sandboxes, snapshots } = observedStore(store, changes);
  return {
    accounts: cachedAccounts(store.accounts, clock, ({ keyId, revokedAtMs }) => {
      if (revokedAtMs === null) keyUses.note(keyId);
    }),
    sandboxes,
    snapshots,
    executions,
    ledger,
    previews,
    audit,
    signIns,
    retention,
    owner,
    close: () => store.close(),
  };
}

const memAvailable = /^MemAvailable:\s+(\d+) kB$/m;

/** Measures this host: its memory, what machines may still take of it, and the disk that holds the folder. */
function probeHost(folder: string, driver: Pick<MachineDriver, 'memoryLeftBytes'>): HostProbe {
  return {
    stats: () => {
      const { bavail, bsize } = statfsSync(folder);
      return {
        memoryAvailableBytes: memoryAvailableBytes(),
        serviceBytes: process.memoryUsage.rss(),
        machinesMemoryLeftBytes: driver.memoryLeftBytes(),
        diskFreeBytes: bavail * bsize,
      };
    },
  };
}

const noBallast: DiskBallast = { sizeBytes: 0, isHeld: true, release: async () => {}, hold: async () => {} };

function memoryAvailableBytes(): number {
  const kibibytes = memAvailable.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1];
  return kibibytes === undefined ? freemem() : Number(kibibytes) * 1024;
}
