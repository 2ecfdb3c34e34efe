import type { FastifyBaseLogger } from 'fastify';
import { startAdmin } from '../admin/start-admin.ts';
import { removeOldRecords } from '../core/background/retention.ts';
import type { Core, Deadlines } from '../core/context.ts';
import { recoverExecutions } from '../core/executions/recover.ts';
import { destroyOwned, leaveOwned, takeOver } from '../core/machines/handover.ts';
import { reconcile } from '../core/machines/reconcile.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { GuestConnector } from '../core/ports/guest-agent.ts';
import type { MachineDriver } from '../core/ports/machine-driver.ts';
import { expireSandboxes } from '../core/sandboxes/expire.ts';
import { repeat } from '../core/scheduling/repeat.ts';
import type { GatewayLimits } from '../gateway/limits.ts';
import { bootstrapAccount, type FirstAccount } from './bootstrap-account.ts';
import { type Config, printableConfig } from './config.ts';
import { holdDataFolder } from './data-folder.ts';
import { closeHttp, listen } from './listen.ts';
import { openConfiguredStore } from './open-store.ts';
import { type Previews, startPreviews } from './previews.ts';
import { wire } from './wire.ts';

const sweepPeriodMs = 60_000;
const reconcilePeriodMs = 15_000;
const retentionPeriodMs = 3_600_000;
const drainMs = 10_000;

export interface ServiceOptions {
  readonly config: Config;
  /** Opened once the data folder is held, closed last. */
  readonly openDriver: () => Promise<MachineDriver>;
  readonly connector: GuestConnector;
  readonly log: FastifyBaseLogger;
  readonly clock?: Clock;
  readonly deadlines?: Partial<Deadlines>;
  readonly gatewayLimits?: Partial<GatewayLimits>;
}

/** What becomes of the running machines: the next run adopts them, or they are ended with their sandboxes. */
export type MachinesAtStop = 'leave' | 'destroy';

/** A service that takes requests. */
export interface Service {
  /** Where callers reach it, without a slash at the end. */
  readonly url: string;
  /** Only on the very first start. */
  readonly firstAccount: FirstAccount | undefined;
  readonly core: Core;
  readonly previews: Pick<Previews, 'url' | 'rootFile'>;
  /** Lets requests in flight finish, then releases everything in the reverse order of acquiring it. */
  stop(machines?: MachinesAtStop): Promise<void>;
}

/** Starts the service. Whatever is acquired pushes its release, so a start that fails leaves nothing behind either. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { config, openDriver, connector, log, clock, deadlines } = options;
  log.info({ config: printableConfig(config) }, 'starting');
  await using acquired = new AsyncDisposableStack();

  const folder = acquired.use(holdDataFolder(config.dataDir));
  const store = acquired.adopt(await openConfiguredStore(config, folder, log), (opened) => opened.close());
  const driver = acquired.adopt(await openDriver(), (opened) => opened.close());
  log.info({ driver: driver.capabilities() }, 'driver_open');
  const wired = wire({ config, store, driver, connector, log, clock, deadlines });
  const { core, app } = wired;
  await takeOver(core);
  let machinesAtStop: MachinesAtStop = 'leave';
  acquired.defer(() => (machinesAtStop === 'destroy' ? destroyOwned(core) : leaveOwned(core)));
  acquired.use(core.teardowns);
  acquired.use(core.pool);
  acquired.use(repeat('heartbeat', reconcilePeriodMs, () => store.owner.noteAlive(core.clock.nowMs()), log));
  acquired.use(repeat('expiry', sweepPeriodMs, () => expireSandboxes(core), log));
  acquired.use(repeat('reconcile', reconcilePeriodMs, () => reconcile(core), log));
  acquired.use(repeat('executions', reconcilePeriodMs, () => recoverExecutions(core), log));
  acquired.use(repeat('retention', retentionPeriodMs, () => removeOldRecords(core, config.retentionDays), log));
  const firstAccount = await bootstrapAccount(core, config);
  acquired.use(await startAdmin({ core, dataDir: config.dataDir, log }));
  const previews = acquired.use(await startPreviews(core, config, log, options.gatewayLimits));
  wired.previewPort = previews.publicPort;
  wired.previewRoot = previews.root;
  acquired.defer(() => closeHttp(app, drainMs));
  wired.publicUrl = await listen(app, config);
  wired.readiness = 'ready';
  core.pool.start();
  log.info({ url: wired.publicUrl }, 'ready');

  const held = acquired.move();
  const stop = async (machines: MachinesAtStop): Promise<void> => {
    machinesAtStop = machines;
    wired.readiness = 'stopping';
    log.info({}, 'stopping');
    await held.disposeAsync();
    log.info({}, 'stopped');
  };
  let stopped: Promise<void> | undefined;
  return {
    url: wired.publicUrl,
    firstAccount,
    core,
    previews,
    stop: (machines = 'leave') => {
      stopped ??= stop(machines);
      return stopped;
    },
  };
}
