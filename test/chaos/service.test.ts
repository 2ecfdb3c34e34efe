import { expect, it, onTestFinished } from 'vitest';
import { sqliteFile } from '../support/chaos/database.ts';
import { chaosSeconds, chaosSeed, chaosSettings, failureReport, runChaos } from '../support/chaos/run-chaos.ts';
import { RestartableService } from '../support/restartable-service.ts';

const seconds = chaosSeconds();

it(
  `${seconds} s under load, with the service and its machines killed repeatedly, break no promise`,
  async () => {
    const seed = chaosSeed();
    const service = await RestartableService.create(chaosSettings);
    onTestFinished(() => service.remove());
    const database = sqliteFile(service.databasePath);
    const report = await runChaos({ seed, seconds, service, database });
    const { problems, trace } = report;
    console.log(`chaos, seed ${seed}, ${seconds} s: ${trace.counts}`);
    if (problems.length > 0) console.log(failureReport(seed, report, service));
    expect(problems).toEqual([]);
    expect(trace.countOf('kill service')).toBeGreaterThan(0);
  },
  (seconds + 300) * 1_000,
);
