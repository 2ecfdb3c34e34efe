import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { join } from 'node:path';

const checkout = join(import.meta.dirname, '../../../..');

/** Runs a command of the set-up of this checkout on this terminal, and returns how it ended. */
export function runBootstrap(...args: readonly string[]): Pick<SpawnSyncReturns<Buffer>, 'status' | 'error'> {
  return spawnSync(process.execPath, ['bootstrap.mjs', ...args], { cwd: checkout, stdio: 'inherit' });
}
