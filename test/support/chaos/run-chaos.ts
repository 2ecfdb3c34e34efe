import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { PostgresServer } from '#server-test/store/postgres-server.ts';
import { length } from '../length.ts';
import type { RestartableService } from '../restartable-service.ts';
import { auditExecutions, auditLedger, auditRecords, auditSandbox } from './audit.ts';
import { ChaosApi } from './chaos-api.ts';
import { Client } from './client.ts';
import { type AuditedDatabase, readLedger, readNumber, readSandboxes } from './database.ts';
import { leftovers, unexpectedResources, waitUntil } from './held-resources.ts';
import { Acknowledgements, Trace } from './history.ts';
import { Killer } from './killer.ts';
import { Random } from './random.ts';

export interface ChaosOptions {
  readonly seed: number;
  readonly seconds: number;
  /** Started with `chaosSettings`. */
  readonly service: RestartableService;
  readonly database: AuditedDatabase;
  /** The database server, if it is to be stopped and killed too. */
  readonly postgres?: PostgresServer;
}

export interface ChaosReport {
  /** Every broken promise; empty if the run passed. */
  readonly problems: readonly string[];
  readonly trace: Trace;
}

/** How many sandboxes the account may have: fewer than the clients ask for. */
const quota = 6;
const clientCount = 4;
const sandboxesPerClient = 2;
const poolSize = 1;
const idleDeadlineMs = 60_000;
const quotaCheckMs = 50;

/** Settings with a low quota, and with prices at which a difference of a millisecond shows in the ledger. */
export const chaosSettings = {
  MAYFLY_LIMIT_CONCURRENT_SANDBOXES: `${quota}`,
  MAYFLY_PRICE_SMALL: '36',
  MAYFLY_BOOTSTRAP_CREDIT_USD: '1000000',
  MAYFLY_POOL: `small=${poolSize}`,
};

const openSandboxes = "select count(*) from sandboxes where status in ('provisioning', 'running')";
const inProgress = `select (select count(*) from sandboxes where status in ('provisioning', 'deleting'))
  + (select count(*) from executions where status = 'running')`;

/** The seed from MAYFLY_CHAOS_SEED, or a random one. */
export function chaosSeed(): number {
  return Number(process.env.MAYFLY_CHAOS_SEED ?? randomInt(2 ** 31));
}

/** The duration from MAYFLY_CHAOS_SECONDS, or the default. */
export function chaosSeconds(): number {
  return Number(process.env.MAYFLY_CHAOS_SECONDS ?? length(20, 300));
}

/** What to print when a run finds problems: the seed, the problems, the trace and the service's log. */
export function failureReport(seed: number, { problems, trace }: ChaosReport, service: RestartableService): string {
  const log = ['log of the service:', service.log];
  return [`MAYFLY_CHAOS_SEED=${seed}`, ...problems, trace.counts, trace.tail(150), ...log].join('\n');
}

/**
 * Runs clients while the service and its machines are killed, then compares the final state with everything that was acknowledged. Stops
 * the service and destroys its machines at the end.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { seed, seconds, service, database } = options;
  const [trace, acknowledged, random] = [new Trace(), new Acknowledgements(), new Random(seed)];
  const api = new ChaosApi(service, trace, acknowledged.problems);
  const killer = new Killer({ ...options, random: random.fork(), api, trace, problems: acknowledged.problems });
  let isKilling = true;
  const clients = Array.from(
    { length: clientCount },
    (_, index) =>
      new Client({ name: `${index}`, random: random.fork(), api, acknowledged, maxSandboxes: sandboxesPerClient }),
  );
  const work = clients.map((client) => client.run(() => !isKilling));
  const watching = maxOpenUntil(database, () => !isKilling);
  try {
    await waitUntil(() => clients.every(({ hasSandbox }) => hasSandbox), idleDeadlineMs);
    const untilMs = performance.now() + seconds * 1_000;
    await killer.run(() => performance.now() >= untilMs);
  } finally {
    isKilling = false;
    await Promise.all(work);
  }
  const maxOpen = await watching;
  const problems = [
    ...(maxOpen > quota ? [`${maxOpen} sandboxes were open at once`] : []),
    ...(await auditIdleService(options)).map((problem) => `before the last restart: ${problem}`),
  ];
  trace.note('last kill -9 of all processes');
  await service.kill();
  await service.start();
  problems.push(...(await auditRunningService(options, api, acknowledged)));
  await service.destroy();
  problems.push(
    ...acknowledged.problems,
    ...(await auditLedger(database)).map((problem) => `at the end: ${problem}`),
    ...(await leftovers(service.dataDir)).map((left) => `left behind: ${left}`),
  );
  return { problems, trace };
}

/** Waits until no operation is in progress, and checks that the service holds the resources of its running sandboxes only. */
async function auditIdleService({ service, database }: ChaosOptions): Promise<string[]> {
  const isIdle = await waitUntil(async () => (await readNumber(database, inProgress)) === 0, idleDeadlineMs);
  const running = (await readSandboxes(database)).filter(({ status }) => status === 'running');
  const machineIds = running.map(({ id, machineId }) => machineId ?? id);
  return [
    ...(isIdle ? [] : ['some sandboxes or executions never reached a final status']),
    ...(await unexpectedResources(service.dataDir, machineIds, poolSize)),
  ];
}

async function auditRunningService(
  options: ChaosOptions,
  api: ChaosApi,
  acknowledged: Acknowledgements,
): Promise<string[]> {
  const { database } = options;
  const problems = await auditIdleService(options);
  const maxRunning = await maxRunningAtOnce(database);
  if (maxRunning > quota) problems.push(`${maxRunning} sandboxes ran at once`);
  problems.push(
    ...(await auditRecords(database, acknowledged)),
    ...(await auditExecutions(database, api, acknowledged)),
    ...(await auditLedger(database)),
  );
  for (const { id, status } of await readSandboxes(database)) {
    if (status === 'running') problems.push(...(await auditSandbox(api, id, acknowledged)));
  }
  return problems;
}

/** Polls the number of open sandboxes until `isStopped` returns true. Returns the maximum. */
async function maxOpenUntil(database: AuditedDatabase, isStopped: () => boolean): Promise<number> {
  let max = 0;
  while (!isStopped()) {
    // The query fails while the database is down.
    max = Math.max(max, await readNumber(database, openSandboxes).catch(() => 0));
    await pause(quotaCheckMs);
  }
  return max;
}

/** The maximum number of sandboxes that ran at the same time, according to their records. */
async function maxRunningAtOnce(database: AuditedDatabase): Promise<number> {
  const ends = new Map((await readLedger(database)).map(({ sandboxId, atMs }) => [sandboxId, atMs]));
  const runs = (await readSandboxes(database)).flatMap(({ id, readyAtMs, statusReason }) =>
    readyAtMs === null || statusReason?.startsWith('provisioning_failed')
      ? []
      : [{ fromMs: readyAtMs, untilMs: ends.get(id) ?? Number.POSITIVE_INFINITY }],
  );
  const runningAt = (atMs: number) => runs.filter(({ fromMs, untilMs }) => fromMs <= atMs && atMs < untilMs).length;
  return Math.max(0, ...runs.map(({ fromMs }) => runningAt(fromMs)));
}
