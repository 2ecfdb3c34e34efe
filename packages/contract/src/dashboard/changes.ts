import { dashboardOperation } from './operation.ts';

/**
 * Server-sent events while the page is open: `sandbox` with a Sandbox as it is now, `snapshots` (`{}`) when a snapshot has appeared, changed or gone, and
 * `reset` (`{}`) when there were too many changes to name. Only changes from now on: a page reads its lists once the stream is open.
 */
export const streamChanges = dashboardOperation({
  id: 'streamChanges',
  method: 'GET',
  path: '/changes',
  summary: 'Stream the changes of sandboxes and snapshots',
  responses: {},
  errors: [],
});
