import { afterEach, beforeEach, expect, test } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import { type StubService, signedIn, type TestBrowser } from '../../../test/http/browser.ts';
import { openTerminal, type TestTerminal } from '../../../test/http/terminal-client.ts';

let service: StubService;
let url: string;
let browser: TestBrowser;
let sandboxId: string;
const opened: TestTerminal[] = [];
beforeEach(async () => {
  service = await stubService();
  url = await service.app.listen({ port: 0, host: '127.0.0.1' });
  browser = await signedIn(service);
  sandboxId = ((await browser.post('/sandboxes')).body as unknown as { id: string }).id;
});
afterEach(async () => {
  for (const terminal of opened.splice(0)) terminal.webSocket.terminate();
  service.core.streams.cutAll();
  service.app.server.closeAllConnections();
  await service.core.screens[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

async function open(): Promise<TestTerminal> {
  const headers = { cookie: browser.cookie ?? '', origin: url };
  const terminal = await openTerminal(`${url}/app/api/sandboxes/${sandboxId}/pty`, headers);
  opened.push(terminal);
  return terminal;
}
const list = () => browser.get(`/sandboxes/${sandboxId}/terminals`);
const listed = (...ids: string[]) => ({
  object: 'list',
  data: ids.map((id) => ({ object: 'terminal', id })),
  limit: 16,
});

test('the terminals of a sandbox are listed, with and without clients, after a restart of the service too', async () => {
  expect((await list()).body).toEqual(listed());
  const [first, second] = [await open(), await open()];
  await first.leave();
  expect((await list()).body).toEqual(listed(first.session, second.session));
  service.core.terminals.known.clear();
  expect((await list()).body).toEqual(listed(first.session, second.session));
});

test('a terminal whose shell has exited is not listed', async () => {
  const terminal = await open();
  service.connector.terminals.newest.exit(0);
  await terminal.untilClosed();
  expect((await list()).body).toEqual(listed());
});

test('what a guest invents is not passed on', async () => {
  const { session } = await open();
  service.connector.terminals.running = () => ['../../etc', '<img src=x>', `term_${'a'.repeat(65)}`, session];
  expect((await list()).body).toEqual(listed(session));
});

test('a sandbox that has ended has no terminals', async () => {
  await browser.delete(`/sandboxes/${sandboxId}`);
  expect((await list()).status).toBe(404);
});
