import { once } from 'node:events';
import { Agent } from 'node:https';
import { PassThrough, type Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import { killMachineOf } from '../support/conformance/kill-machine.ts';
import { createSandbox, deleteSandbox, output } from '../support/http.ts';
import { connectHttp2 } from '../support/previews/connect-http2.ts';
import { nodeServer, startNodeServer, startServer } from '../support/previews/guest-server.ts';
import { closePreview, type OpenPreview, openPreview } from '../support/previews/open-preview.ts';
import { routeTo } from '../support/previews/route.ts';
import { exchangeMessage, openSocket } from '../support/previews/socket.ts';
import { askHttp2, begin, headOf, visit, visitJson } from '../support/previews/visit.ts';
import { startTestService, type TestService } from '../support/service.ts';

const port = 3000;
/** At once, for a machine that does other things, too. */
const promptMs = 3_000;
let service: TestService;
let id: string;
let otherId: string;
let preview: OpenPreview;
beforeAll(async () => {
  service = await startTestService();
  const serve = async () => {
    const sandbox = await createSandbox(service);
    await startNodeServer(service, sandbox.id, port);
    return sandbox.id;
  };
  [id, otherId] = await Promise.all([serve(), serve()]);
  preview = await openPreview(service, id, port);
});
afterAll(() => service.stop());

/** Settles when a body has broken off or ended. */
const cut = async (body: Readable): Promise<void> => {
  await finished(body.resume()).catch(() => {});
};
const closed = async (socket: WebSocket): Promise<void> => {
  if (socket.readyState !== socket.CLOSED) await once(socket, 'close');
};

/** One of each kind that is open through a preview; gives what settles once all are cut. */
const openOfEachKind = async (place: OpenPreview): Promise<() => Promise<void>> => {
  const socket = await openSocket(place);
  expect(await exchangeMessage(socket, 'open')).toBe('back: open');
  const answers = await Promise.all([
    begin(place, '/hold'),
    begin(place, '/hold', { protocol: 'HTTP/2' }),
    begin(place, '/events'),
    begin(place, '/echo', { method: 'POST', body: endless() }),
  ]);
  const unanswered = visit(place, '/never').then(
    ({ status }) => status,
    () => 'cut',
  );
  return async () => {
    await Promise.all([closed(socket), unanswered, ...answers.map(({ body }) => cut(body))]);
  };
};

/** A body of which a piece has come and more never does. */
const endless = (): Readable => {
  const body = new PassThrough();
  body.write('a piece');
  return body;
};

/** How long it takes until all is cut, in milliseconds, from when something was asked to end. */
const cutWithin = async (allCut: () => Promise<void>, end: () => Promise<unknown>): Promise<number> => {
  const startedMs = performance.now();
  await Promise.all([allCut(), end()]);
  return performance.now() - startedMs;
};

describe('what is open through a preview is cut at once', () => {
  it('when it is closed; the server goes on, and so do other previews of the sandbox', async () => {
    await startServer(service, id, nodeServer(port + 1), port + 1);
    const other = await openPreview(service, id, port + 1);
    const kept = await openSocket(other);
    const allCut = await openOfEachKind(preview);
    expect(await cutWithin(allCut, () => closePreview(service, id, port))).toBeLessThan(promptMs);
    expect((await visit(preview)).status).toBe(404);
    expect(await exchangeMessage(kept, 'still here')).toBe('back: still here');
    kept.terminate();
    preview = await openPreview(service, id, port);
    expect((await visit(preview)).status).toBe(200);
    // The server was told that its visitors left.
    await expect
      .poll(() => visitJson(preview, '/say', { method: 'POST', body: 'x' }), { timeout: 10_000 })
      .toEqual({ listeners: 0 });
  });

  it('also connections over which nothing is asked at the moment', async () => {
    const agent = new Agent({ keepAlive: true, ...routeTo(preview) });
    expect((await visit(preview, '/', { agent })).status).toBe(200);
    const session = await connectHttp2(preview);
    (await headOf(askHttp2(session, '/'))).body.resume();
    const [idle] = Object.values(agent.freeSockets).flat();
    if (idle === undefined) throw new Error('no connection was kept');
    const allCut = async () => void (await Promise.all([once(idle, 'close'), once(session, 'close')]));
    expect(await cutWithin(allCut, () => closePreview(service, id, port))).toBeLessThan(promptMs);
    preview = await openPreview(service, id, port);
  });

  it('when the sandbox is deleted', async () => {
    const its = await openPreview(service, otherId, port);
    const allCut = await openOfEachKind(its);
    expect(await cutWithin(allCut, () => deleteSandbox(service, otherId))).toBeLessThan(promptMs);
    expect((await visit(its)).status).toBe(404);
  });

  it('when its server ends, and comes back with the server', async () => {
    const socket = await openSocket(preview);
    const { body } = await begin(preview, '/hold');
    const allCut = async () => void (await Promise.all([closed(socket), cut(body)]));
    const kill = () => output(service, id, `kill -9 $(pgrep -f 'server.mjs ${port}$')`);
    expect(await cutWithin(allCut, kill)).toBeLessThan(promptMs);
    await startServer(service, id, nodeServer(port), port);
    expect((await visit(preview)).status).toBe(200);
  });

  it('when its machine dies; the URL then says so with a 502', async () => {
    const allCut = await openOfEachKind(preview);
    expect(await cutWithin(allCut, () => killMachineOf(service.dataDir, id))).toBeLessThan(promptMs);
    const startedMs = performance.now();
    const { status, text } = await visit(preview);
    expect([status, performance.now() - startedMs < promptMs]).toEqual([502, true]);
    expect(JSON.parse(text)).toMatchObject({ error: { message: expect.stringMatching(/machine|sandbox/) } });
  });
});
