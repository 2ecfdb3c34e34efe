import { readConfig } from '@mayfly/server/app/config.ts';
import { openLog } from '@mayfly/server/app/log.ts';
import { reportFailedStart } from '@mayfly/server/app/main.ts';
import { startService } from '@mayfly/server/app/service.ts';
import { createGuestConnector } from '@mayfly/server/guest/connector.ts';
import type { Prepared } from '../prepare.ts';
import { openDriver } from './open-driver.ts';

/** Ends every sandbox that a stopped service left alive, and leaves nothing of them on the host. Refuses while a service runs. */
export async function destroySandboxes({ engine, templates, tools }: Prepared): Promise<number> {
  try {
    const config = { ...readConfig(), host: '127.0.0.1', port: 0, previewPort: 0, tlsFiles: undefined };
    const log = openLog(config);
    const service = await startService({
      config,
      openDriver: () => openDriver({ engine, templates, tools, dataDir: config.dataDir, log }),
      connector: createGuestConnector(),
      log,
    });
    const running = await service.core.store.sandboxes.withStatus(['running']);
    await service.stop('destroy');
    process.stdout.write(`Ended ${running.length} running sandboxes; nothing of them is left.\n`);
    return 0;
  } catch (error) {
    return reportFailedStart(error);
  }
}
