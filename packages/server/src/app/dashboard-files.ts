import { fileURLToPath } from 'node:url';
import type { Log } from '../core/ports/runtime.ts';
import { type PageFiles, readPageFiles } from '../http/dashboard/page-files.ts';

/** What set-up builds. */
const dashboardFolder = fileURLToPath(new URL('../../../dashboard/dist', import.meta.url));

/** Reads the built dashboard. Undefined if it is not built or cannot be read: the API works without it. */
export function readDashboard(log: Log, folder = dashboardFolder): PageFiles | undefined {
  try {
    const files = readPageFiles(folder);
    if (files === undefined) log.warn({ folder }, 'dashboard_missing');
    return files;
  } catch (err) {
    log.error({ err, folder }, 'dashboard_read_failed');
    return undefined;
  }
}
