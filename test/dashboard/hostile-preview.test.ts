import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { call, createSandbox } from '../support/api-requests.ts';
import type { TestBrowser } from '../support/browser.ts';
import { putFile, pythonServer, startServer } from '../support/previews/guest-server.ts';
import { openPreview } from '../support/previews/preview-fixture.ts';
import type { TestService } from '../support/test-service.ts';
import { heading, openPage, signIn, useDashboard } from './harness.ts';

const port = 8000;
let service: TestService;
let browser: TestBrowser;
useDashboard((dashboard) => {
  ({ service, browser } = dashboard);
});

/** A page that tries, in the browser of a person who is signed in, what its origin must not be able to do. It writes down what worked. */
function hostilePage(dashboard: string, script: string, sandboxId: string): string {
  const api = `${dashboard}/app/api`;
  return `<!doctype html><title>at work</title>
<iframe name="framed" src="${dashboard}/keys"></iframe>
<iframe name="sink"></iframe>
<form method="post" action="${api}/keys" enctype="text/plain" target="sink"><input name='{"name":"form","x":"' value='"}'></form>
<pre id="worked"></pre>
<script type="module">
const worked = [];
const attempt = async (name, act) => {
  try { if (await act()) worked.push(name); } catch {}
};
const send = (path, options) => fetch('${api}' + path, { credentials: 'include', ...options });
await attempt('read the cookie', () => document.cookie !== '');
await attempt('read the session', async () => (await send('/session')).ok);
await attempt('make a key', async () => (await send('/keys', {
  method: 'POST', body: '{"name":"fetch"}', headers: { 'content-type': 'application/json' } })).ok);
await send('/keys', { method: 'POST', mode: 'no-cors', body: '{"name":"no-cors"}' }).catch(() => {});
await send('/session', { method: 'DELETE', mode: 'no-cors' }).catch(() => {});
await attempt('follow the changes', () => new Promise((resolve) => {
  const events = new EventSource('${api}/changes', { withCredentials: true });
  events.onopen = () => resolve(true);
  events.onerror = () => resolve(false);
}));
await attempt('open a terminal', () => new Promise((resolve) => {
  const socket = new WebSocket('${api.replace(/^http/, 'ws')}/sandboxes/${sandboxId}/pty');
  socket.onopen = () => resolve(true);
  socket.onerror = () => resolve(false);
}));
await attempt('load a script of the dashboard', () => import('${dashboard}${script}').then(() => true));
await attempt('plant a cookie for the dashboard', () => {
  document.cookie = 'mayfly_session=planted; domain=localhost; path=/';
  return document.cookie.includes('planted');
});
document.forms[0].submit();
document.querySelector('#worked').textContent = JSON.stringify(worked);
document.title = 'done';
</script>`;
}

const keyNames = async (page: Page) =>
  (await page.evaluate(
    "fetch('/app/api/keys').then((response) => response.json()).then(({ data }) => data.map(({ name }) => name))",
  )) as readonly (string | null)[];

it('the page of a preview, opened by somebody who is signed in, reaches neither the dashboard nor its API', async () => {
  await using opened = await openPage(browser, service, '/sandboxes');
  const { page } = opened;
  await signIn(page);
  await heading(page, 'Sandboxes').waitFor();
  const before = await keyNames(page);
  const { id } = await createSandbox(service);
  const script = (await page.getAttribute('script[type=module]', 'src')) ?? '';
  await putFile(service, id, 'www/index.html', hostilePage(service.url, script, id));
  await startServer(service, id, pythonServer('www', port), port);
  const { url } = await openPreview(service, id, port);

  const preview = await page.context().newPage();
  await preview.goto(url);
  await expect.poll(() => preview.title()).toBe('done');
  expect(await preview.textContent('#worked')).toBe('[]');
  // Chromium shows its own page in place of one that must not be framed.
  const framed = preview.frame('framed');
  await expect.poll(() => framed?.url()).toMatch(/^chrome-error:/);
  await expect.poll(() => preview.frame('sink')?.url()).not.toBe('about:blank');

  // A window that it opens is not its own any more once it shows the dashboard.
  const popup = preview.waitForEvent('popup');
  await preview.evaluate(`window.opened = window.open('${service.url}/keys'); undefined`);
  const shown = await popup;
  await heading(shown, 'API keys').waitFor();
  expect(await preview.evaluate('window.opened.closed')).toBe(true);
  expect(await shown.evaluate('window.opener')).toBe(null);

  expect(await keyNames(page)).toEqual(before);
  await call(service, 'DELETE', `/sandboxes/${id}`);
});
