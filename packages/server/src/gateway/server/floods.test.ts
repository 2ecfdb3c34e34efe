import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { PreviewService } from '../../../test/app/preview-service.ts';
import { LongestTurn, untilShortTurns } from '../../../test/longest-turn.ts';

const promisedMs = 50;
/** Allows for a garbage collection, and for timers that share a turn with other work of the test. */
const tolerance = 4;

/** Opens connections from a thread of its own and reports how many handshakes succeeded. */
const clientCode = `
const { parentPort } = require('node:worker_threads');
const net = require('node:net');
const tls = require('node:tls');
function greet(port, localAddress) {
  return new Promise((resolve) => {
    const servername = Math.random().toString(36).slice(2) + '.localhost';
    const socket = net.connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {});
    const client = tls.connect({ socket, servername, rejectUnauthorized: false });
    client.on('error', () => {}).on('close', () => resolve(0)).on('secureConnect', () => {
      resolve(1);
      client.destroy();
    });
  });
}
parentPort.on('message', async ({ port, localAddress, count }) => {
  const greeted = await Promise.all(Array.from({ length: count }, () => greet(port, localAddress)));
  parentPort.postMessage(greeted.reduce((sum, one) => sum + one, 0));
});`;

test('500 handshakes with random names from one address: most are refused, no turn is long, another address is served', async () => {
  await using service = await PreviewService.start(
    { MAYFLY_LOG_LEVEL: 'silent' },
    // So few that a slow host cannot take long enough for all of them.
    { newConnectionsBurst: 128, newConnectionsPerSecond: 1 },
  );
  const port = service.previewPort;
  const client = new Worker(clientCode, { eval: true });
  const greet = async (localAddress: string, count: number): Promise<number> => {
    client.postMessage({ port, localAddress, count });
    const [greeted] = await once(client, 'message');
    return Number(greeted);
  };
  await greet('127.0.0.3', 50);
  using turns = new LongestTurn();
  const longest = await untilShortTurns(promisedMs * tolerance, async () => {
    turns.take();
    const greeted = await greet('127.0.0.1', 500);
    expect(greeted).toBeLessThan(500);
    console.log(`500 handshakes: ${greeted} served`);
    return turns.take();
  });
  console.log(`longest turn ${longest.map(Math.round).join(', then ')} ms, promised ${promisedMs} ms`);
  expect(await greet('127.0.0.2', 1)).toBe(1);
  expect(Math.min(...longest)).toBeLessThan(promisedMs * tolerance);
  await client.terminate();
}, 120_000);
