import { beforeEach, expect, test } from 'vitest';
import type { StubService, TestBrowser } from '../../../test/http/browser.ts';
import { type TerminalPage, useTerminalPage } from '../../../test/http/terminal-page.ts';

const page = useTerminalPage();
let service: StubService;
let browser: TestBrowser;
let sandboxId: string;
let open: TerminalPage['open'];
beforeEach(() => {
  ({ service, browser, sandboxId, open } = page());
});

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
