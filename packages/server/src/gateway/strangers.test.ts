import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { PreviewService } from '../../test/app/preview-service.ts';
import { StubClock } from '../../test/app/stub-service.ts';
import { clientHelloFloods, clientHelloFor, sendAtOnce } from '../../test/client-hello.ts';
import { untilEnd, Visitor } from '../../test/gateway/visitor.ts';
import { RecordedLog } from '../../test/recorded-log.ts';
import { openRefusedConnections } from '../../test/refused-connections.ts';
import { noMetrics } from '../core/ports/metrics.ts';
import { RefusedRequests } from './forward/refused-requests.ts';
import { defaultGatewayLimits } from './gateway-context.ts';

describe('requests that are refused', () => {
  const perMinute = 40;
  let service: PreviewService;
  let visitor: Visitor;
  beforeAll(async () => {
    service = await PreviewService.start({}, { refusedRequestsPerMinute: perMinute });
    visitor = new Visitor(service.ca);
  });
  afterAll(() => service[Symbol.asyncDispose]());
  afterEach(() => void vi.useRealTimers());

  const unknown = () => new URL(`https://${'a'.repeat(32)}.localhost:${service.previewPort}/`);

  test('are logged ten times in a second, without the token', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    for (let at = 0; at < 15; at += 1) await visitor.get(unknown());
    const lines = service.logged.filter((line) => line.includes('preview_refused'));
    expect(lines).toHaveLength(10);
    expect(lines[0]).toContain('127.0.0.1');
    expect(lines.join()).not.toContain('aaaa');
  });

  test('are answered with 429 beyond the limit of their source address, and so is all else that it sends', async () => {
    const { url } = await service.serve((_request, response) => response.end('ok'));
    // The minute may end once in between.
    const pages = [];
    while (pages.at(-1)?.status !== 429 && pages.length < 2 * perMinute) pages.push(await visitor.get(unknown()));
    expect(pages.at(-1)).toMatchObject({ status: 429, headers: { 'x-mayfly-preview': 'rate_limited' } });
    expect(Number(pages.at(-1)?.headers['retry-after'])).toBeGreaterThan(0);
    expect([200, 429]).toContain((await visitor.get(url)).status);
    const socket = await visitor.raw(url);
    socket.write('HELLO\r\n\r\n');
    expect(await untilEnd(socket)).toMatch(/^HTTP\/1.1 4(?:29|00) /);
  });
});

test('connections that are refused are logged ten times in a second', async () => {
  const service = await PreviewService.start({}, { connectionsPerSource: 0 });
  vi.useFakeTimers({ toFake: ['performance'] });
  await openRefusedConnections(service.previewPort, 30);
  vi.useRealTimers();
  expect(service.logged.filter((line) => line.includes('connection_refused'))).toHaveLength(10);
  await service[Symbol.asyncDispose]();
});

test.each(clientHelloFloods)(
  'a flood of TLS handshakes %s is handled a few per turn of the event loop',
  async (_, servername, before) => {
    const service = await PreviewService.start();
    const clientHello = await clientHelloFor(servername);
    await sendAtOnce(service.previewPort, 1, clientHello);
    const perTurn = await sendAtOnce(service.previewPort, 60, clientHello, before);
    expect(perTurn.reduce((sum, count) => sum + count, 0)).toBe(60);
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(2 * defaultGatewayLimits.handshakesPerTurn);
    await service[Symbol.asyncDispose]();
  },
);

test('only what the visitor caused counts, per source address and minute', () => {
  const clock = new StubClock();
  const log = new RecordedLog();
  const refused = new RefusedRequests({ clock, metrics: noMetrics, log, perMinute: 2 });
  for (let at = 0; at < 5; at += 1) refused.note('198.51.100.1', 'nothing_listening');
  refused.note('198.51.100.1', 'unknown');
  expect(() => refused.check('198.51.100.1')).not.toThrow();
  refused.note('198.51.100.1', 'bad_request');
  expect(() => refused.check('198.51.100.1')).toThrow('More than 2 requests');
  expect(() => refused.check('198.51.100.2')).not.toThrow();
  clock.advanceMs(60_000);
  expect(() => refused.check('198.51.100.1')).not.toThrow();
  expect(log.events).toEqual(['preview_refused', 'preview_refused']);
});
