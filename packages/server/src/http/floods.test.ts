import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { stubService } from '../../test/app/stub-service.ts';
import { resultOf } from '../../test/core/stub-guest.ts';
import { LongestTurn, untilShortTurns } from '../../test/longest-turn.ts';

const promisedMs = 50;
/** Allows for a garbage collection, and for timers that share a turn with other work of the test. */
const tolerance = 3;

/** Sends requests from a thread of its own, so that only the service's work counts, and reports how often each status was returned. */
const clientCode = `
const { parentPort } = require('node:worker_threads');
parentPort.on('message', async ({ url, key, method, body, count }) => {
  const statuses = {};
  await Promise.all(Array.from({ length: count }, async () => {
    const response = await fetch(url, { method, body, headers: { authorization: 'Bearer ' + key } });
    await response.arrayBuffer();
    statuses[response.status] = (statuses[response.status] ?? 0) + 1;
  }));
  parentPort.postMessage(statuses);
});`;

describe('no turn of the event loop is long', { timeout: 120_000 }, () => {
  let service: Awaited<ReturnType<typeof stubService>>;
  let client: Worker;
  let turns: LongestTurn;
  let url: string;
  let id: string;
  beforeEach(async () => {
    const settings = { MAYFLY_LIMIT_REQUESTS_PER_MINUTE: '100000', MAYFLY_LIMIT_SOURCE_REQUESTS_PER_MINUTE: '100000' };
    service = await stubService(undefined, settings);
    url = await service.app.listen({ port: 0, host: '127.0.0.1' });
    id = (await service.call('POST', '/v1/sandboxes')).body.id;
    client = new Worker(clientCode, { eval: true });
    service.connector.command = async () => resultOf();
    await send('POST', '/exec', 100, '{"command":"true"}');
    turns = new LongestTurn();
  });
  afterEach(async () => {
    turns[Symbol.dispose]();
    await client.terminate();
    await service[Symbol.asyncDispose]();
  });

  async function send(method: string, path: string, count: number, body?: string, sandbox = id): Promise<unknown> {
    client.postMessage({ url: `${url}/v1/sandboxes/${sandbox}${path}`, key: service.key, method, body, count });
    const [statuses] = await once(client, 'message');
    return statuses;
  }

  /** The turns of the service while the flood is handled are short, if not the first time, then when it is repeated. */
  async function expectShortTurns(what: string, flood: () => Promise<void>): Promise<void> {
    const longest = await untilShortTurns(promisedMs * tolerance, async () => {
      turns.take();
      await flood();
      return turns.take();
    });
    console.log(`${what}: longest turn ${longest.map(Math.round).join(', then ')} ms, promised ${promisedMs} ms`);
    expect(Math.min(...longest)).toBeLessThan(promisedMs * tolerance);
  }

  const command = '{"command":"sleep 1"}';

  test('when 1,200 commands arrive at once and all of them end', async () => {
    service.connector.command = async () => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      return resultOf({ stdout: Buffer.alloc(30_000) });
    };
    await expectShortTurns('1,200 commands', async () => {
      expect(await send('POST', '/exec', 1_200, command)).toEqual({ 200: 1_200 });
    });
  });

  test('when 1,200 commands arrive at once and their sandbox is deleted', async () => {
    service.connector.command = () => new Promise(() => {});
    await expectShortTurns('arrival and failure of 1,200 commands', async () => {
      const { body } = await service.call('POST', '/v1/sandboxes');
      const sent = send('POST', '/exec', 1_200, command, body.id);
      await vi.waitFor(() => expect(service.core.budgets.commands.waiting).toBe(1_000), { timeout: 60_000 });
      await service.call('DELETE', `/v1/sandboxes/${body.id}`);
      expect(await sent).toEqual({ 404: 1_000, 502: 200 });
    });
  });

  test('when a directory of 50,000 long names is listed four times at once', async () => {
    const entries = Array.from({ length: 50_000 }, (_, at) => {
      return { name: Buffer.from(String(at).padStart(255, '\u0001')), type: 'file', sizeBytes: at } as const;
    });
    service.connector.files.directories.set('/workspace/many', entries);
    await expectShortTurns('4 listings', async () => {
      expect(await send('GET', '/files?path=many&list=true', 4)).toEqual({ 200: 4 });
    });
  });

  test('when a megabyte of NULs is sent to twenty clients at once', async () => {
    service.connector.command = async () =>
      resultOf({ stdout: Buffer.alloc(1_048_576), stderr: Buffer.alloc(1_048_576) });
    await expectShortTurns('20 responses of 12 MiB', async () => {
      expect(await send('POST', '/exec', 20, '{"command":"x"}')).toEqual({ 200: 20 });
    });
  });
});
