import { describe, expect, test } from 'vitest';
import { decideLayout, type LayoutState, refuseLongPath } from './data-layout.ts';

const user = { uid: 54_321, gid: 54_322 };

describe('the decision', () => {
  const state = (changes: Partial<LayoutState> = {}): LayoutState => ({
    dataDir: '/data',
    ownerUid: 0,
    names: ['bases', 'lock', 'lock-supervisor', 'machines', 'run', 'service', 'snapshots', 'lost+found'],
    service: { ...user, isFolder: true, names: ['mayfly.db'] },
    ...changes,
  });

  test.each([
    ['a complete one', state(), { moved: [], givesAll: false }],
    ['a new one', state({ names: ['lock'], service: undefined }), { moved: [], givesAll: true }],
    [
      'one of another user',
      state({ service: { uid: 1, gid: 1, isFolder: true, names: [] } }),
      { moved: [], givesAll: true },
    ],
    ['one of root', state({ service: { uid: 0, gid: 0, isFolder: true, names: [] } }), { moved: [], givesAll: true }],
    ['a restored file', state({ names: ['id', 'service'] }), { moved: ['id'], givesAll: false }],
  ])('%s', (_, found, changes) => expect(decideLayout(found, user)).toEqual(changes));

  test.each([
    ['the whole folder belongs to the service', state({ ownerUid: user.uid }), /chown root:root \/data/],
    ['a file instead of the folder', state({ service: { ...user, isFolder: false, names: [] } }), /is not a folder/],
    ['two databases', state({ names: ['mayfly.db', 'service'] }), /contains mayfly\.db twice/],
  ])('refused: %s', (_, found, message) => expect(() => decideLayout(found, user)).toThrow(message));
});

test('a path that is too long for sockets is refused, with the longest that is possible', () => {
  refuseLongPath(`/${'d'.repeat(56)}`);
  expect(() => refuseLongPath(`/${'d'.repeat(80)}`)).toThrow(
    /has 81 bytes.* Set MAYFLY_DATA_DIR to a path of at most 58 bytes/,
  );
});
