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

test('the two ends are connected in both directions', async () => {
  const { fresh, other } = await openSocketPair();
  const [atOther, atFresh] = [once(other, 'data'), once(fresh, 'data')];
  fresh.write('to the other end');
  other.write('and back');
  expect([String(await atOther), String(await atFresh)]).toEqual(['to the other end', 'and back']);
  fresh.destroy();
  await once(other, 'close');
});

test('another program that connects first gets nothing and is disconnected', async () => {
  const before = new Set(names());
  const opening = openSocketPair();
  const strangers = names()
    .filter((name) => !before.has(name))
    .map((name) => connect(name).on('error', () => {}));
  expect(strangers.length).toBeGreaterThan(0);
  const gone = strangers.map((stranger) => once(stranger, 'close'));
  for (const stranger of strangers) stranger.resume().write('a token of 32 bytes that is wrong');
  const { fresh, other } = await opening;
  await Promise.all(gone);
  fresh.write('ours');
  expect(String(await once(other, 'data'))).toBe('ours');
  fresh.destroy();
  other.destroy();
});
