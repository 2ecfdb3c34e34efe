import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { buildTemplate } from '#server/machines/qemu/template/build.ts';
import type { Stage } from '../support/stage.ts';
import type { Row } from '../support/table.ts';

const bootDeadlineMs = 240_000;

/** A cold boot of the same machine up to the agent's first answer, to compare a create with. */
export const bootRow = async (stage: Stage, createSmall: Row): Promise<Row> => {
  const { engine, artifacts } = stage.host;
  const { kernelPath, kernelVersion, initrdPath, diskPaths } = artifacts;
  const folder = join(stage.folder, 'boot');
  await mkdir(folder);
  const startedMs = performance.now();
  let measuredMs = Number.NaN;
  const recipe = { engine, size: 'small', kernelPath, kernelVersion, initrdPath, basePath: diskPaths.small } as const;
  await buildTemplate(
    {
      ...recipe,
      warmUp: async (openChannel) => {
        const openAgentChannel = () => openChannel(AbortSignal.timeout(bootDeadlineMs));
        const agent = await stage.connector.attach({ id: 'boot', openAgentChannel }, bootDeadlineMs);
        measuredMs = performance.now() - startedMs;
        const { bootMs } = await agent.hello();
        agent.close();
        return { bootMs, uptimeMs: bootMs };
      },
    },
    folder,
  );
  return { name: 'cold boot small', measuredMs, yardstick: createSmall.name, yardstickMs: createSmall.measuredMs };
};
