import type { ServerResponse } from 'node:http';
import type { Sandbox } from '@mayfly/contract';
import type { FakeArea } from './area.ts';

const open = new Set<ServerResponse>();

/** A stream that stays open and tells only what `announceChange` is called with. */
export const changesArea: FakeArea = {
  respond: ({ operation }, response) => {
    if (operation !== 'GET /changes') return false;
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('retry: 1000\n\n');
    open.add(response);
    response.once('close', () => open.delete(response));
    return true;
  },
};

/** Ends the streams, as a service that goes away. */
export function cutChanges(): void {
  for (const response of open) response.destroy();
}

export function announceChange(sandbox: Sandbox): void {
  for (const response of open) response.write(`event: sandbox\ndata: ${JSON.stringify(sandbox)}\n\n`);
}
