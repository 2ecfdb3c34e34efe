import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { openSocketPair } from './socket-pair.ts';

/** The abstract names of the sockets that this test can see. */
function names(): string[] {
  return [...readFileSync('/proc/net/unix', 'latin1').matchAll(/@(mayfly-[0-9a-f]{32})$/gm)].map(
    ([, name]) => `\0${name}`,
  );
}

/** Opens a pair with a reader that pauses after each call. `taken` is what it got so far. */
async function openPair() {
  const taken: string[] = [];
  const buffer = Buffer.alloc(32);
  const take = (bytes: Buffer) => {
    taken.push(String(bytes));
    return false;
  };
  return { ...(await openSocketPair({ buffer, take })), taken };
}

test('the two ends are connected in both directions, and the reader is called again only when it goes on', async () => {
  const { fresh, other, taken } = await openPair();
  const atFresh = once(fresh, 'data');
  fresh.write('to the other end');
  other.write('and back');
  expect(String(await atFresh)).toBe('and back');
  await expect.poll(() => taken).toEqual(['to the other end']);
  fresh.write('more');
  other.write('once more');
  await once(fresh, 'data');
  expect(taken).toHaveLength(1);
  other.resume();
  await expect.poll(() => taken).toEqual(['to the other end', 'more']);
  other.resume();
  fresh.destroy();
  await once(other, 'close');
});

test('another program that connects first gets nothing of ours and is disconnected', async () => {
  const before = new Set(names());
  const opening = openPair();
  const strangers = names()
    .filter((name) => !before.has(name))
    .map((name) => connect(name).on('error', () => {}));
  expect(strangers.length).toBeGreaterThan(0);
  const gone = strangers.map((stranger) => once(stranger, 'close'));
  for (const stranger of strangers) stranger.resume().write('a token of 32 bytes that is wrong');
  const { fresh, other, taken } = await opening;
  await Promise.all(gone);
  fresh.write('ours');
  await expect.poll(() => taken).toEqual(['ours']);
  fresh.destroy();
  other.destroy();
});
