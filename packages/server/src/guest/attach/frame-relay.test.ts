import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { rawFrame } from '../../../test/guest/raw-http2.ts';
import { openUnixSocket } from '../../../test/guest/wire.ts';
import { guestLimits } from '../guest-limits.ts';
import { FrameRelay } from './frame-relay.ts';

const dataFrame = rawFrame(0, 0, 1, Buffer.from('x'));
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

async function openRelay() {
  const [data, guest] = await openUnixSocket();
  const relay = await FrameRelay.open();
  const violations: unknown[] = [];
  relay.start(data, (violation) => violations.push(violation));
  cleanups.push(() => {
    relay.close();
    data.destroy();
    guest.destroy();
  });
  return { relay, data, guest, violations };
}

test('tiny frames reach HTTP/2 a few per turn of the event loop, and all of them in the end', async () => {
  const { relay, guest } = await openRelay();
  const frames = 20 * guestLimits.framesPerTurn;
  guest.write(Buffer.concat(Array<Buffer>(frames).fill(dataFrame)));
  relay.socket.resume();
  let mostBytes = 0;
  for (let seenBytes = 0; seenBytes < frames * dataFrame.length; seenBytes = relay.socket.bytesRead) {
    const before = relay.socket.bytesRead;
    await new Promise(setImmediate);
    mostBytes = Math.max(mostBytes, relay.socket.bytesRead - before);
  }
  expect(relay.socket.bytesRead).toBe(frames * dataFrame.length);
  expect(mostBytes).toBeLessThanOrEqual(4 * guestLimits.framesPerTurn * dataFrame.length);
});

test('a refused frame closes the socket of HTTP/2 and reports the violation once', async () => {
  const { relay, guest, violations } = await openRelay();
  relay.socket.resume();
  const origin = rawFrame(12, 0, 0, Buffer.alloc(0));
  guest.write(Buffer.concat(Array<Buffer>(10_000).fill(origin)));
  await once(relay.socket, 'close');
  await new Promise(setImmediate);
  expect(violations.map(String)).toEqual([expect.stringContaining('type 12')]);
  expect(relay.socket.bytesRead).toBe(0);
});

test('a session that does not read stops the guest, and a guest that does not read stops the session', async () => {
  const { relay, guest } = await openRelay();
  const piece = Buffer.concat(Array<Buffer>(100).fill(rawFrame(0, 0, 1, Buffer.alloc(1_000))));
  let sentBytes = 0;
  for (const end of [guest, relay.socket]) {
    const more = () => {
      do sentBytes += piece.length;
      while (end.write(piece) && sentBytes < 100_000_000);
    };
    end.on('drain', more);
    more();
  }
  for (let turn = 0; turn < 1_000; turn += 1) await new Promise(setImmediate);
  expect(sentBytes).toBeLessThan(10_000_000);
});

test('a guest that reads slowly gets every byte as it was sent', async () => {
  const { relay, guest } = await openRelay();
  const sent = randomBytes(5_000_000);
  const received: Buffer[] = [];
  let receivedBytes = 0;
  guest.on('data', (chunk: Buffer) => {
    received.push(chunk);
    receivedBytes += chunk.length;
    guest.pause();
    setImmediate(() => guest.resume());
  });
  for (let at = 0; at < sent.length; at += 50_000) relay.socket.write(sent.subarray(at, at + 50_000));
  await expect.poll(() => receivedBytes).toBe(sent.length);
  expect(Buffer.concat(received).equals(sent)).toBe(true);
});

test('HTTP/2 gets the last bytes of a data port that ends, although nobody takes what it sends', async () => {
  const { relay, guest } = await openRelay();
  const bytes = Buffer.concat(Array<Buffer>(10_000).fill(dataFrame));
  relay.socket.write(Buffer.alloc(1_000_000));
  guest.end(bytes);
  let seenBytes = 0;
  relay.socket.on('data', (chunk: Buffer) => {
    seenBytes += chunk.length;
  });
  await once(relay.socket, 'end');
  expect(seenBytes).toBe(bytes.length);
});
