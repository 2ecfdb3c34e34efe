import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { buildTemplate } from '#server/machines/qemu/template/build.ts';
import type { BenchHost } from '../support/bench-host.ts';
import type { Row } from '../support/table.ts';

const bootDeadlineMs = 240_000;

/** A cold boot of the same machine up to the agent's first answer, compared with a create. */
export async function bootRow(bench: BenchHost, createSmall: Row): Promise<Row> {
  const { engine, artifacts } = bench.host;
  const { kernelPath, kernelVersion, initrdPath, diskPaths } = artifacts;
  const folder = join(bench.folder, 'boot');
  await mkdir(folder);
  const startedMs = performance.now();
  let measuredMs = Number.NaN;
  const recipe = { engine, size: 'small', kernelPath, kernelVersion, initrdPath, basePath: diskPaths.small } as const;
  await buildTemplate(
    {
      ...recipe,
      warmUp: async (openChannel) => {
        const openAgentChannel = () => openChannel(AbortSignal.timeout(bootDeadlineMs));
        const agent = await bench.connector.attach({ id: 'boot', openAgentChannel }, bootDeadlineMs);
        measuredMs = performance.now() - startedMs;
        const { bootMs } = await agent.hello();
        agent.close();
        return { bootMs, uptimeMs: bootMs };
      },
    },
    folder,
  );
  return { name: 'cold boot small', measuredMs, baseline: createSmall.name, baselineMs: createSmall.measuredMs };
}
