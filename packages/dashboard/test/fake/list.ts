import { endedSandboxes, sandboxes } from '../sample-data.ts';
import type { FakeArea } from './area.ts';

export const listArea: FakeArea = {
  answer: ({ operation, parameters }, state) => {
    if (operation !== 'GET /sandboxes') return undefined;
    const all = parameters.get('include_deleted') === 'true' ? [...sandboxes, ...endedSandboxes] : sandboxes;
    return { body: { object: 'list', data: state.hasSandboxes ? all : [], has_more: false, next_cursor: null } };
  },
};
