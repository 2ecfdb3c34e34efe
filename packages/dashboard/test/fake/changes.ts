import type { FakeArea } from './area.ts';

/** A stream that stays open and tells nothing. */
export const changesArea: FakeArea = {
  respond: ({ operation }, response) => {
    if (operation !== 'GET /changes') return false;
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('retry: 1000\n\n');
    return true;
  },
};
