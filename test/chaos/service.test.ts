import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { sqliteFile } from '../support/chaos/database.ts';
import { runChaos } from '../support/chaos/run-chaos.ts';
import { ServiceProcess } from '../support/chaos/service-process.ts';
import { chaosSeconds, chaosSeed, chaosSettings, quota, reportOf } from '../support/chaos/settings.ts';

const seconds = chaosSeconds(60);

it(
  `a service that is killed again and again for ${seconds} s under load, and its machines with it, keeps every promise`,
  async () => {
    const seed = chaosSeed();
    const service = await ServiceProcess.create(chaosSettings);
    onTestFinished(() => service.remove());
    const database = sqliteFile(join(service.dataDir, 'mayfly.db'));
    const { problems, trace } = await runChaos({ seed, seconds, quota, service, database });
    console.log(`chaos, seed ${seed}, ${seconds} s: ${trace.counts}`);
    if (problems.length > 0) console.log(reportOf(seed, trace, service));
    expect(problems).toEqual([]);
    expect(trace.countOf('kill service')).toBeGreaterThan(0);
  },
  (seconds + 300) * 1_000,
);
