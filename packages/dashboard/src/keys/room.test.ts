import { expect, test } from 'vitest';
import { describeRoom } from './room.ts';

test.each([
  [0, '0 of 10 active keys.'],
  [7, '7 of 10 active keys.'],
  [8, '8 of 10 active keys. 2 more can be created.'],
  [9, '9 of 10 active keys. One more can be created.'],
  [10, '10 of 10 active keys. Revoke one to create another.'],
  [12, '12 of 10 active keys. Revoke one to create another.'],
])('the limit is said before it is hit: %d keys', (active, sentence) => {
  expect(describeRoom(active, 10)).toBe(sentence);
});
