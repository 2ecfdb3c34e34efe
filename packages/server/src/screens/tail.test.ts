import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Tail } from './tail.ts';

test('keeps the last bytes of what was written', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ max: 127, maxLength: 25 })), fc.nat(12), (pieces, count) => {
      const tail = new Tail(10);
      for (const piece of pieces) tail.push(piece);
      const all = Buffer.concat(pieces);
      expect(Buffer.from(tail.text())).toEqual(Buffer.from(all.subarray(-10)));
      expect(Buffer.from(tail.last(count))).toEqual(
        Buffer.from(all.subarray(all.length - Math.min(10, count, all.length))),
      );
    }),
  );
});

test('does not begin inside a character', () => {
  const tail = new Tail(10);
  tail.push(Buffer.from('漢字漢字'));
  expect(Buffer.from(tail.text()).toString()).toBe('字漢字');
});

test('is empty after it was cleared', () => {
  const tail = new Tail(10);
  tail.push(Buffer.from('something long'));
  tail.clear();
  tail.push(Buffer.from('new'));
  expect(Buffer.from(tail.text()).toString()).toBe('new');
});
