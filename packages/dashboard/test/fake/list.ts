import type { ForkList } from '@mayfly/contract';
import { endedSandboxes, manySandboxes, sandboxes, snapshots } from '../sample-data.ts';
import { type Answer, type FakeArea, type FakeState, refusal } from './area.ts';
import { exampleSandboxes } from './example.ts';

export const listArea: FakeArea = {
  answer: ({ operation, parameters }, state) => {
    if (operation === 'GET /sandboxes') return listSandboxes(parameters, state);
    if (operation === 'GET /snapshots') return page(state.hasSnapshots ? snapshots : []);
    if (operation === 'POST /sandboxes') return { status: 201, body: sandboxes[1] };
    const [, method = '', id = '', action = ''] = /^(\S+) \/sandboxes\/(\w+)\/?(\w*)$/.exec(operation) ?? [];
    // The account that has many of them is also the one where some requests fail.
    if (
      state.sandboxCount !== undefined &&
      id.charCodeAt(7) % 5 === 0 &&
      (method === 'DELETE' || action === 'extend')
    ) {
      return refusal(503, 'capacity_unavailable', 'The host is busy. Try again in a moment.');
    }
    if (method === 'DELETE' && action === '') return { body: { object: 'sandbox', id, status: 'deleted' } };
    if (method === 'POST' && action === 'extend') return { body: sandboxes[1] };
    if (method === 'POST' && action === 'snapshots') return { status: 201, body: snapshots[1] };
    if (method === 'POST' && action === 'fork') return { status: 201, body: copies };
    return undefined;
  },
};

function listSandboxes(parameters: URLSearchParams, state: FakeState): Answer {
  if (!state.hasSandboxes) return page([]);
  const few = state.isExample ? exampleSandboxes : sandboxes;
  const current = state.sandboxCount === undefined ? few : manySandboxes(state.sandboxCount);
  const hasEnded = parameters.get('include_deleted') === 'true' && state.sandboxCount === undefined;
  const all = hasEnded ? [...current, ...endedSandboxes] : current;
  const start = Number(parameters.get('starting_after') ?? 0);
  const end = start + Number(parameters.get('limit'));
  const cursor = end < all.length ? `${end}` : null;
  return { body: { object: 'list', data: all.slice(start, end), has_more: cursor !== null, next_cursor: cursor } };
}

function page(data: readonly unknown[]): Answer {
  return { body: { object: 'list', data, has_more: false, next_cursor: null } };
}

const copies = {
  object: 'list',
  data: [
    ...manySandboxes(2).map((sandbox) => ({ object: 'fork_result' as const, sandbox, error: null })),
    {
      object: 'fork_result',
      sandbox: null,
      error: { type: 'quota_exceeded', message: 'The account has its maximum of 20 sandboxes. Delete one.' },
    },
  ],
} satisfies ForkList;
