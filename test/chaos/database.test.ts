import { expect, it, onTestFinished } from 'vitest';
import { PostgresServer } from '#server-test/store/postgres-server.ts';
import type { Row } from '../support/chaos/database.ts';
import { chaosSeconds, chaosSeed, chaosSettings, failureReport, runChaos } from '../support/chaos/run-chaos.ts';
import { RestartableService } from '../support/restartable-service.ts';

const seconds = chaosSeconds();

it(
  `${seconds} s under load, with PostgreSQL, the service and its machines killed repeatedly, break no promise`,
  async () => {
    const seed = chaosSeed();
    const postgres = await PostgresServer.create();
    onTestFinished(() => postgres.remove());
    const name = await postgres.createDatabase();
    const service = await RestartableService.create({ ...chaosSettings, MAYFLY_DATABASE_URL: postgres.url(name) });
    onTestFinished(() => service.remove());
    const database = { rows: async (sql: string) => (await postgres.run(name, sql)) as Row[] };
    const report = await runChaos({ seed, seconds, service, database, postgres });
    const { problems, trace } = report;
    console.log(`chaos on PostgreSQL, seed ${seed}, ${seconds} s: ${trace.counts}`);
    if (problems.length > 0) console.log(failureReport(seed, report, service));
    expect(problems).toEqual([]);
    expect(trace.countOf('stop database fast') + trace.countOf('stop database kill')).toBeGreaterThan(0);
  },
  (seconds + 300) * 1_000,
);
