import { once } from 'node:events';
import { Agent } from 'node:https';
import { PassThrough, type Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { describe, expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import { deleteSandbox, output } from '../../support/api-requests.ts';
import { killMachine } from '../../support/machine-processes.ts';
import { connectHttp2, connectionOptions, exchangeMessage, openWebSocket } from '../../support/previews/connections.ts';
import { nodeServer, startServer } from '../../support/previews/guest-server.ts';
import { type OpenPreview, openPreview, type PreviewFixture } from '../../support/previews/preview-fixture.ts';
import { requestHttp2, responseHead, startVisit, visit, visitJson } from '../../support/previews/visit.ts';
import { deleteSnapshot, rollBack } from '../../support/snapshots.ts';

/** Far above what is observed (about 150 ms), far below every idle timeout. */
const promptMs = 30_000;

/** Resolves when a body has ended or was aborted. */
async function bodyClosed(body: Readable): Promise<void> {
  await finished(body.resume()).catch(() => {});
}
async function socketClosed(socket: WebSocket): Promise<void> {
  if (socket.readyState !== socket.CLOSED) await once(socket, 'close');
}

/** Opens one connection of each kind through a preview. The result waits until all of them are closed. */
async function openOneOfEachKind(preview: OpenPreview): Promise<() => Promise<void>> {
  const socket = await openWebSocket(preview);
  expect(await exchangeMessage(socket, 'open')).toBe('back: open');
  const responses = await Promise.all([
    startVisit(preview, '/hold'),
    startVisit(preview, '/hold', { protocol: 'HTTP/2' }),
    startVisit(preview, '/events'),
    startVisit(preview, '/echo', { method: 'POST', body: neverEnding() }),
  ]);
  const unanswered = visit(preview, '/never').then(
    ({ status }) => status,
    () => 'closed',
  );
  return async () => {
    await Promise.all([socketClosed(socket), unanswered, ...responses.map(({ body }) => bodyClosed(body))]);
  };
}

/** A request body that sends one chunk and never ends. */
function neverEnding(): Readable {
  const body = new PassThrough();
  body.write('a chunk');
  return body;
}

/** How long it takes, in milliseconds, until `end` has finished and all connections are closed. */
async function closeTimeMs(allClosed: () => Promise<void>, end: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await Promise.all([allClosed(), end()]);
  return performance.now() - startedMs;
}

/** Open connections end with their preview, server, sandbox or machine. Kills the fixture's machine, so it must be the last suite. */
export function describeEndings(fixture: PreviewFixture) {
  return describe('endings', () => {
    describe('open connections are closed at once', () => {
      it('when the preview is closed; the server and other previews of the sandbox are not affected', async () => {
        await visit(fixture.preview, `/listen?port=${fixture.port + 1}&after=0`);
        const other = await openPreview(fixture.service, fixture.sandbox.id, fixture.port + 1);
        expect((await visit(other)).text).toBe('late');
        const kept = await openWebSocket(other);
        const allClosed = await openOneOfEachKind(fixture.preview);
        expect(await closeTimeMs(allClosed, () => fixture.close())).toBeLessThan(promptMs);
        expect((await visit(fixture.preview)).status).toBe(404);
        expect(await exchangeMessage(kept, 'still here')).toBe('back: still here');
        kept.terminate();
        await fixture.open();
        expect((await visit(fixture.preview)).status).toBe(200);
        // The server has noticed that its visitors are gone.
        await expect
          .poll(() => visitJson(fixture.preview, '/say', { method: 'POST', body: 'x' }))
          .toEqual({ listeners: 0 });
      });

      it('when the sandbox is rolled back; the preview then leads to the server of the snapshot', async () => {
        const { service, sandbox } = fixture;
        const { snapshot } = await fixture.copied();
        const allClosed = await openOneOfEachKind(fixture.preview);
        expect(await closeTimeMs(allClosed, () => rollBack(service, sandbox.id, snapshot.id))).toBeLessThan(promptMs);
        expect((await visit(fixture.preview)).status).toBe(200);
        await deleteSnapshot(service, snapshot.id);
      });

      it('even if they are idle', async () => {
        const agent = new Agent({ keepAlive: true, ...connectionOptions(fixture.preview) });
        expect((await visit(fixture.preview, '/', { agent })).status).toBe(200);
        const session = await connectHttp2(fixture.preview);
        (await responseHead(requestHttp2(session, '/'))).body.resume();
        const [idle] = Object.values(agent.freeSockets).flat();
        if (idle === undefined) throw new Error('no idle connection');
        const allClosed = async () => void (await Promise.all([once(idle, 'close'), once(session, 'close')]));
        expect(await closeTimeMs(allClosed, () => fixture.close())).toBeLessThan(promptMs);
        await fixture.open();
      });

      it('when the sandbox is deleted', async () => {
        const { copy } = await fixture.copied();
        const its = await openPreview(fixture.service, copy.id, fixture.port);
        const allClosed = await openOneOfEachKind(its);
        expect(await closeTimeMs(allClosed, () => deleteSandbox(fixture.service, copy.id))).toBeLessThan(promptMs);
        expect((await visit(its)).status).toBe(404);
      });

      it('when the server exits; the preview works again once the server is restarted', async () => {
        const socket = await openWebSocket(fixture.preview);
        const { body } = await startVisit(fixture.preview, '/hold');
        const allClosed = async () => void (await Promise.all([socketClosed(socket), bodyClosed(body)]));
        const kill = () =>
          output(fixture.service, fixture.sandbox.id, `kill -9 $(pgrep -f 'server.mjs ${fixture.port}$')`);
        expect(await closeTimeMs(allClosed, kill)).toBeLessThan(promptMs);
        await startServer(fixture.service, fixture.sandbox.id, nodeServer(fixture.port), fixture.port);
        expect((await visit(fixture.preview)).status).toBe(200);
      });

      it('when the machine dies; the URL then responds with a 502 that says so', async () => {
        const { service, sandbox } = fixture;
        const allClosed = await openOneOfEachKind(fixture.preview);
        // A rollback has given the sandbox another machine.
        const { id } = service.core.machines.get(sandbox.id);
        expect(await closeTimeMs(allClosed, () => killMachine(service.dataDir, id))).toBeLessThan(promptMs);
        // A visitor who comes while connections are being closed may be disconnected too.
        const visitNow = () => visit(fixture.preview).catch(() => ({ status: 0, text: '' }));
        let seen = await visitNow();
        const status = async () => {
          if (seen.status === 0) seen = await visitNow();
          return seen.status;
        };
        await expect.poll(status, { timeout: promptMs }).toBe(502);
        expect(JSON.parse(seen.text)).toMatchObject({ error: { message: expect.stringMatching(/machine|sandbox/) } });
      });
    });
  });
}
