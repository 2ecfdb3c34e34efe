import { beforeEach, expect, test } from 'vitest';
import { addAccount, type StubService, signedIn, type TestBrowser } from '../../../test/http/browser.ts';
import { type RefusedUpgrade, tryTerminal } from '../../../test/http/terminal-client.ts';
import { type TerminalPage, useTerminalPage } from '../../../test/http/terminal-page.ts';
import { resetSignIn } from '../../core/sign-in/links.ts';
import { recheckConnections } from '../../core/sign-in/session-connections.ts';

const page = useTerminalPage();
let service: StubService;
let url: string;
let browser: TestBrowser;
let sandboxId: string;
let terminalUrl: string;
let open: TerminalPage['open'];
beforeEach(() => {
  ({ service, url, browser, sandboxId, terminalUrl, open } = page());
});

const own = (of = browser) => ({ cookie: of.cookie ?? '', origin: url });
const refused = async (headers: Record<string, string>) => (await tryTerminal(terminalUrl, headers)) as RefusedUpgrade;

/** Opens a stream of events, and says when it ends. */
async function stream(): Promise<{ readonly ended: Promise<unknown> }> {
  const path = `/app/api/sandboxes/${sandboxId}/stats/stream?interval_seconds=60`;
  const response = await fetch(`${url}${path}`, { headers: { cookie: browser.cookie ?? '' } });
  const reader = response.body?.getReader();
  expect((await reader?.read())?.value?.length).toBeGreaterThan(0);
  const read = async (): Promise<unknown> => {
    const next = await reader?.read();
    return next === undefined || next.done ? 'done' : await read();
  };
  return { ended: read().catch((error: unknown) => error) };
}

test('a page of the dashboard opens a terminal with its cookie', async () => {
  const terminal = await open();
  terminal.type('ls\n');
  await expect.poll(() => service.connector.terminals.newest.typed).toEqual(['ls\n']);
});

test.each([
  ['another site', { origin: 'https://evil.example' }],
  ['a preview', { origin: 'https://token.localhost:8443' }],
  ['no page', {}],
  ['a page without an origin that it names', { origin: 'null' }],
])('a terminal for %s is refused', async (_, origin) => {
  const answer = await refused({ cookie: browser.cookie ?? '', ...(origin as Record<string, string>) });
  expect([answer.status, answer.body.error.type]).toEqual([403, 'cross_origin_request']);
});

test('a terminal needs a session: neither a key nor a ticket takes its place, nor the session of another account', async () => {
  const authorization = { authorization: `Bearer ${service.key}`, origin: url };
  expect((await refused(authorization)).status).toBe(401);
  const { ticket } = (await service.call('POST', '/v1/tickets')).body as unknown as { ticket: string };
  const byTicket = (await tryTerminal(`${terminalUrl}?ticket=${ticket}`, { origin: url })) as RefusedUpgrade;
  expect(byTicket.status).toBe(401);
  const other = await signedIn(service, await addAccount(service, 'b'));
  expect((await refused(own(other))).status).toBe(404);
  const onV1 = (await tryTerminal(terminalUrl.replace('/app/api', '/v1'), own())) as RefusedUpgrade;
  expect(onV1.status).toBe(401);
});

test.each<[string, () => Promise<unknown>]>([
  ['another session ends it', async () => (await signedIn(service)).delete('/sessions')],
  ['its password is changed elsewhere', changePasswordElsewhere],
  ['an operator resets it', () => resetSignIn(service.core, 'a@localhost')],
  ['it is signed out', () => browser.delete('/session')],
])('terminals and streams of a session end when %s', async (_, end) => {
  const [terminal, events] = [await open(), await stream()];
  await end();
  await Promise.all([terminal.untilClosed(), events.ended]);
  expect((await refused(own())).status).toBe(401);
});

test.each<[string, () => Promise<unknown>]>([
  ['its account is suspended', () => service.core.store.accounts.setSuspended('acct_test', true)],
  ['it expires', async () => service.clock.advanceMs(30 * 24 * 60 * 60_000)],
  ['it is gone from the database', async () => service.store.signIns.reset('acct_test')],
])('terminals and streams of a session are cut by the next check when %s', async (_, end) => {
  const [terminal, events] = [await open(), await stream()];
  await recheckConnections(service.core);
  expect(terminal.closed).toBeUndefined();
  await end();
  await recheckConnections(service.core);
  await Promise.all([terminal.untilClosed(), events.ended]);
});

test('an open terminal keeps its session in use', async () => {
  await open();
  for (let day = 0; day < 10; day++) {
    service.clock.advanceMs(24 * 60 * 60_000);
    await recheckConnections(service.core);
  }
  expect((await browser.get('/session')).status).toBe(200);
});

test('nothing is remembered of connections that have ended', async () => {
  const terminal = await open();
  expect(service.core.connections.sessions).toHaveLength(1);
  await terminal.leave();
  await expect.poll(() => service.core.connections.sessions).toHaveLength(0);
  const response = await fetch(`${url}/app/api/session`, { headers: { cookie: browser.cookie ?? '' } });
  await response.text();
  await expect.poll(() => service.core.connections.sessions).toHaveLength(0);
});

test('a refused terminal is answered and leaves nothing', async () => {
  const answer = (await tryTerminal(`${url}/app/api/sandboxes/sbx_unknown/pty`, own())) as RefusedUpgrade;
  expect(answer.status).toBe(404);
  await expect.poll(() => service.core.connections.sessions).toHaveLength(0);
});

async function changePasswordElsewhere(): Promise<void> {
  const elsewhere = await signedIn(service);
  const passwords = { current_password: 'correct horse battery', new_password: 'another good password' };
  expect((await elsewhere.put('/password', passwords)).status).toBe(200);
}
