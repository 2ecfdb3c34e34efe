// Runs the service in its own process, on the machines of a host process, and answers questions about it. Settings come from the environment, the prepared host from the first
// argument, what the suite changes from the second.

import { readConfig } from '#server/app/config.ts';
import { startService } from '#server/app/service.ts';
import { createAccount } from '#server/core/accounts/manage-accounts.ts';
import { createGuestConnector } from '#server/guest/connector.ts';
import { openLog } from '#server/process/log.ts';
import { LongestTurn } from '#server-test/longest-turn.ts';
import { startHost } from '#server-test/supervisor/start-supervised.ts';
import type { PreparedHost } from '../support/prepared-host.ts';
import type { MeasuredOptions } from './measured-service.ts';

const host = JSON.parse(process.argv[2] ?? '') as PreparedHost;
const { deadlines, readingLimits, gatewayLimits } = JSON.parse(process.argv[3] ?? '') as MeasuredOptions;
const config = readConfig();
const log = openLog(config);
const { serviceDir, openDriver, stop: stopHost } = startHost(host, process.env);
const service = await startService({
  config: { ...config, dataDir: serviceDir },
  openDriver: () => openDriver(log),
  connector: createGuestConnector({ deadlines: deadlines ? { executeGraceMs: deadlines.executeGraceMs } : {} }),
  deadlines: deadlines ? { attachMs: deadlines.attachMs } : {},
  readingLimits: readingLimits ?? {},
  gatewayLimits: gatewayLimits ?? {},
  log,
});
const longestTurn = new LongestTurn();
let accounts = 0;

/** The resident memory after a garbage collection, in bytes. */
function settledBytes(): number {
  for (let round = 0; round < 3; round += 1) globalThis.gc?.();
  const bytes = process.memoryUsage.rss();
  // The collections above are not the service's work.
  longestTurn.take();
  return bytes;
}

/** Creates an account and returns its key. */
async function newAccount(): Promise<string> {
  accounts += 1;
  const { apiKey } = await createAccount(service.core, {
    email: `account-${accounts}@localhost`,
    creditMicroUsd: 100_000_000,
  });
  return apiKey;
}

const questions: Readonly<Record<string, () => unknown>> = {
  memory: settledBytes,
  account: newAccount,
  longestTurnMs: () => longestTurn.take(),
};
async function answer(question: string): Promise<void> {
  if (question === 'stop') {
    await service.stop('destroy');
    await stopHost();
    process.exit(0);
  }
  process.send?.(await questions[question]?.());
}
process.on('message', (question: string) => void answer(question));
process.send?.({ url: service.url, previewUrl: service.previews.url });
