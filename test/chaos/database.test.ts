import { expect, it, onTestFinished } from 'vitest';
import { PostgresServer } from '#server-test/store/postgres-server.ts';
import type { Row } from '../support/chaos/database.ts';
import { runChaos } from '../support/chaos/run-chaos.ts';
import { ServiceProcess } from '../support/chaos/service-process.ts';
import { chaosSeconds, chaosSeed, chaosSettings, quota, reportOf } from '../support/chaos/settings.ts';

const seconds = chaosSeconds(45);

it(
  `a service whose PostgreSQL is stopped and killed for ${seconds} s under load, and itself with it, keeps every promise`,
  async () => {
    const seed = chaosSeed();
    const postgres = await PostgresServer.create();
    onTestFinished(() => postgres.remove());
    const name = await postgres.createDatabase();
    const service = await ServiceProcess.create({ ...chaosSettings, MAYFLY_DATABASE_URL: postgres.url(name) });
    onTestFinished(() => service.remove());
    const database = { rows: async (sql: string) => (await postgres.run(name, sql)) as Row[] };
    const { problems, trace } = await runChaos({ seed, seconds, quota, service, database, postgres });
    console.log(`chaos on PostgreSQL, seed ${seed}, ${seconds} s: ${trace.counts}`);
    if (problems.length > 0) console.log(reportOf(seed, trace, service));
    expect(problems).toEqual([]);
    expect(trace.countOf('stop database fast') + trace.countOf('stop database kill')).toBeGreaterThan(0);
  },
  (seconds + 300) * 1_000,
);
