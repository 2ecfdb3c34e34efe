import { expect, test } from 'vitest';
import { inheritedSockets } from './inherited-sockets.ts';

test('sockets are found by their names, from descriptor 3 on', () => {
  const env = { LISTEN_PID: '7', LISTEN_FDS: '4', LISTEN_FDNAMES: 'other:previews:api:api' };
  expect(inheritedSockets(env, 7)).toEqual({ api: [5, 6], previews: [4] });
});

test('sockets of another process, and names without a descriptor, are ignored', () => {
  const env = { LISTEN_PID: '7', LISTEN_FDS: '1', LISTEN_FDNAMES: 'api:previews' };
  expect(inheritedSockets(env, 7)).toEqual({ api: [3] });
  expect(inheritedSockets(env, 8)).toEqual({});
  expect(inheritedSockets({ ...env, LISTEN_FDS: 'many' }, 7)).toEqual({});
  expect(inheritedSockets({}, 7)).toEqual({});
});
