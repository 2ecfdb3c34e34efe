import type { FastifyBaseLogger } from 'fastify';
import { startAdmin } from '../admin/start-admin.ts';
import type { BudgetSettings } from '../core/budgets/budgets.ts';
import { Evictor } from '../core/eviction/evictor.ts';
import type { GuestConnector } from '../core/ports/guest-agent.ts';
import type { Deadlines } from '../core/ports/machine-deadlines.ts';
import type { MachineDriver } from '../core/ports/machine-driver.ts';
import type { Clock } from '../core/ports/runtime.ts';
import { adoptMachines } from '../core/recovery/adopt-machines.ts';
import { reconcile } from '../core/recovery/reconcile.ts';
import { recoverExecutions } from '../core/recovery/recover-executions.ts';
import { removeOldRecords } from '../core/recovery/retention.ts';
import { destroyAllSandboxes, detachAllSandboxes, expireSandboxes } from '../core/sandboxes/end.ts';
import { closeHttp } from '../core/scheduling/deadline.ts';
import { repeat } from '../core/scheduling/repeat.ts';
import { recheckConnections, recheckPeriodMs } from '../core/sign-in/session-connections.ts';
import { keepSnapshots } from '../core/snapshots/recover.ts';
import type { GatewayLimits } from '../gateway/gateway-context.ts';
import type { Readiness } from '../http/http-app.ts';
import type { ReadingLimits } from '../http/slow-readers.ts';
import { createPrometheusMetrics } from '../metrics/prometheus.ts';
import { createScreens } from '../screens/worker-screens.ts';
import { openApiTls, refreshApiTls } from './api-tls.ts';
import { assembleCore, type Core } from './assemble-core.ts';
import { openBallast } from './ballast.ts';
import { bootstrapAccount, type FirstAccount } from './bootstrap-account.ts';
import { buildApi } from './build-api.ts';
import { type Config, printableConfig } from './config.ts';
import { readDashboard } from './dashboard-files.ts';
import { holdDataFolder } from './data-folder.ts';
import { listen, localUrlOf } from './listen.ts';
import { openConfiguredStore } from './open-store.ts';
import { type Previews, startPreviews } from './previews.ts';

export const expiryPeriodMs = 60_000;
export const reconcilePeriodMs = 15_000;
export const snapshotPeriodMs = 30_000;
export const retentionPeriodMs = 3_600_000;
/** A measurement takes microseconds, and a guest can fill a gigabyte in a second. */
export const evictionPeriodMs = 250;
/** How soon the pool follows an alias that moved, or a template that was deleted. */
export const poolTemplatesPeriodMs = 5_000;
export const drainMs = 10_000;

export interface ServiceOptions {
  readonly config: Config;
  /** Called once the data folder is locked. The driver is disposed of when the service stops. */
  readonly openDriver: () => Promise<MachineDriver>;
  readonly connector: GuestConnector;
  readonly log: FastifyBaseLogger;
  readonly clock?: Clock;
  readonly deadlines?: Partial<Deadlines>;
  readonly gatewayLimits?: Partial<GatewayLimits>;
  readonly readingLimits?: Partial<ReadingLimits>;
  readonly budgets?: Partial<BudgetSettings>;
}

/** What a stop does with the machines: detach them for the next run to adopt, or destroy them and their sandboxes. */
type MachinesAtStop = 'detach' | 'destroy';

/** A service that takes requests. */
export interface Service {
  /** Where callers reach the API, without a trailing slash. */
  readonly url: string;
  /** Only on the very first start. */
  readonly firstAccount: FirstAccount | undefined;
  readonly core: Core;
  readonly previews: Pick<Previews, 'url' | 'rootFile'>;
  /** Lets requests in flight finish, then releases everything in reverse order. */
  stop(machines?: MachinesAtStop): Promise<void>;
}

/** Starts the service. If a step fails, everything acquired before it is released. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { config, openDriver, connector, log, clock, deadlines, budgets } = options;
  log.info({ config: printableConfig(config) }, 'service_starting');
  await using acquired = new AsyncDisposableStack();
  let readiness: Readiness = 'starting';
  let machinesAtStop: MachinesAtStop = 'detach';

  const folder = acquired.use(holdDataFolder(config.dataDir));
  const metrics = createPrometheusMetrics();
  const store = acquired.adopt(await openConfiguredStore(config, folder, log, metrics), (opened) => opened.close());
  const driver = acquired.use(await openDriver());
  log.info({ driver: driver.describe() }, 'driver_opened');
  const isAccepting = () => readiness === 'ready';
  const ballast = openBallast(config.dataDir, config.headroom.diskReserveBytes);
  const screens = acquired.use(createScreens());
  const adapters = { store, driver, connector, log, metrics, clock, ballast, screens };
  const { secretKey } = folder;
  const core = assembleCore({ config, ...adapters, secretKey, deadlines, budgets, isAccepting });
  // Released after the machines, because requests in flight end, and are recorded, when their machine is detached.
  acquired.use(core.audit);
  acquired.use(core.keyUses);
  await adoptMachines(core, driver);
  acquired.defer(() => (machinesAtStop === 'destroy' ? destroyAllSandboxes(core) : detachAllSandboxes(core)));
  acquired.use(core.teardowns);
  acquired.use(core.pool);
  acquired.use(repeat('heartbeat', reconcilePeriodMs, () => store.owner.noteAlive(core.clock.nowMs()), log));
  acquired.use(repeat('sessions', recheckPeriodMs, () => recheckConnections(core), log));
  acquired.use(repeat('expiry', expiryPeriodMs, () => expireSandboxes(core), log));
  acquired.use(repeat('reconcile', reconcilePeriodMs, () => reconcile(core), log));
  acquired.use(repeat('executions', reconcilePeriodMs, () => recoverExecutions(core), log));
  acquired.use(repeat('snapshots', snapshotPeriodMs, () => keepSnapshots(core), log));
  acquired.use(repeat('retention', retentionPeriodMs, () => removeOldRecords(core, config.retentionDays), log));
  const evictor = new Evictor(core);
  acquired.use(repeat('eviction', evictionPeriodMs, () => evictor.check(), log));
  const firstAccount = await bootstrapAccount(core, config);
  let localUrl: string | undefined;
  let publicUrl: string | undefined;
  const urls = { local: () => localUrl, public: () => publicUrl };
  acquired.use(await startAdmin({ core, dataDir: config.dataDir, log, urls }));
  const previews = acquired.use(await startPreviews(core, config, log, options.gatewayLimits));
  const { readingLimits } = options;
  const tls = await openApiTls(config, previews.certificates, log);
  const pages = readDashboard(log);
  const app = buildApi({ config, core, metrics, previews, tls, pages, log, readiness: () => readiness, readingLimits });
  if (tls !== undefined) acquired.use(refreshApiTls(app, previews.certificates, log));
  acquired.defer(() => {
    core.streams.cutAll();
    return closeHttp(app, drainMs);
  });
  const url = await listen(app, config);
  publicUrl = url;
  localUrl = localUrlOf(app, config);
  readiness = 'ready';
  core.pool.start();
  if (core.pool.hasTemplates) {
    acquired.use(repeat('pool_templates', poolTemplatesPeriodMs, () => core.pool.refreshTemplates(), log));
  }
  log.info({ url }, 'service_ready');

  const resources = acquired.move();
  const stop = async (machines: MachinesAtStop): Promise<void> => {
    machinesAtStop = machines;
    readiness = 'stopping';
    log.info({}, 'service_stopping');
    await resources.disposeAsync();
    log.info({}, 'service_stopped');
  };
  let stopped: Promise<void> | undefined;
  return {
    url,
    firstAccount,
    core,
    previews,
    stop: (machines = 'detach') => {
      stopped ??= stop(machines);
      return stopped;
    },
  };
}
