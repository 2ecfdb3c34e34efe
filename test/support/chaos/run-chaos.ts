import type { PostgresServer } from '#server-test/store/postgres-server.ts';
import { Acknowledged } from './acknowledged.ts';
import { Api } from './api.ts';
import { auditLedger } from './audit-ledger.ts';
import { auditRecords } from './audit-records.ts';
import { auditExecutions, auditSandbox } from './audit-work.ts';
import { Client } from './client.ts';
import { type AuditedDatabase, readNumber, readSandboxes } from './database.ts';
import { Killer } from './killer.ts';
import { leftovers, strayHoldings } from './leftovers.ts';
import { mostRunningAtOnce, watchQuota } from './quota-watch.ts';
import { Random } from './random.ts';
import type { ServiceProcess } from './service-process.ts';
import { Trace } from './trace.ts';
import { waitUntil } from './wait-until.ts';

export interface ChaosOptions {
  readonly seed: number;
  readonly seconds: number;
  /** The account's, as the service was told. */
  readonly quota: number;
  readonly service: ServiceProcess;
  readonly database: AuditedDatabase;
  readonly postgres?: PostgresServer;
}

export interface ChaosReport {
  /** Everything that is not as it must be. */
  readonly problems: readonly string[];
  readonly trace: Trace;
}

const clientCount = 4;
const sandboxesPerClient = 2;
const pooled = 1;
const quietMs = 60_000;
const unsettled = `select (select count(*) from sandboxes where status in ('provisioning', 'deleting'))
  + (select count(*) from executions where status = 'running')`;

/** Works and kills for a time, then holds everything against what was promised. Ends the service with its machines. */
export const runChaos = async (options: ChaosOptions): Promise<ChaosReport> => {
  const { seed, seconds, service, database } = options;
  const [trace, acknowledged, random] = [new Trace(), new Acknowledged(), new Random(seed)];
  const api = new Api(service, trace, acknowledged.problems);
  const killer = new Killer({ ...options, random: random.fork(), api, trace, problems: acknowledged.problems });
  let isKilling = true;
  const clients = Array.from({ length: clientCount }, (_, index) => {
    const parts = { name: `${index}`, random: random.fork(), api, acknowledged, trace, wants: sandboxesPerClient };
    return new Client(parts);
  });
  const work = clients.map((client) => client.run(() => !isKilling));
  const watching = watchQuota(database, () => !isKilling);
  try {
    await waitUntil(() => clients.every(({ hasSandbox }) => hasSandbox), quietMs);
    const untilMs = performance.now() + seconds * 1_000;
    await killer.run(() => performance.now() >= untilMs);
  } finally {
    isKilling = false;
    await Promise.all(work);
  }
  const mostOpen = await watching;
  const problems = [
    ...(mostOpen > options.quota ? [`${mostOpen} sandboxes were open at once`] : []),
    ...(await restlessness(options)).map((problem) => `without another restart ${problem}`),
  ];
  trace.note('last kill -9 of the service');
  await service.kill();
  await service.start();
  problems.push(...(await auditWhileItRuns(options, api, acknowledged)));
  await service.destroy();
  problems.push(
    ...acknowledged.problems,
    ...(await auditLedger(database)).map((problem) => `at the end: ${problem}`),
    ...(await leftovers(service.dataDir)).map((left) => `left behind: ${left}`),
  );
  return { problems, trace };
};

/** What goes on or stands open although nobody asks for anything any more. */
const restlessness = async ({ service, database }: ChaosOptions): Promise<string[]> => {
  const isQuiet = await waitUntil(async () => (await readNumber(database, unsettled)) === 0, quietMs);
  const running = (await readSandboxes(database)).filter(({ status }) => status === 'running');
  const machineIds = running.map(({ id, machineId }) => machineId ?? id);
  return [
    ...(isQuiet ? [] : ['it does not come to rest']),
    ...(await strayHoldings(service.dataDir, machineIds, pooled)),
  ];
};

const auditWhileItRuns = async (options: ChaosOptions, api: Api, acknowledged: Acknowledged): Promise<string[]> => {
  const { database, quota } = options;
  const problems = await restlessness(options);
  const most = await mostRunningAtOnce(database);
  if (most > quota) problems.push(`${most} sandboxes ran at once`);
  problems.push(
    ...(await auditRecords(database, acknowledged)),
    ...(await auditExecutions(database, api, acknowledged)),
    ...(await auditLedger(database)),
  );
  for (const { id, status } of await readSandboxes(database)) {
    if (status === 'running') problems.push(...(await auditSandbox(api, id, acknowledged)));
  }
  return problems;
};
