import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { signInLinkUrl } from '@mayfly/contract/dashboard';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { createKey } from '#server/core/accounts/api-keys.ts';
import { findAccount } from '#server/core/accounts/find-account.ts';
import { createAccount } from '#server/core/accounts/manage-accounts.ts';
import { createLoginLink, resetSignIn } from '#server/core/sign-in/links.ts';
import { call, createSandbox, deleteSandbox, output } from '../support/api-requests.ts';
import type { TestBrowser } from '../support/browser.ts';
import type { TestService } from '../support/test-service.ts';
import { button, email, heading, hostileName, openPage, signIn, signOut, useDashboard } from './harness.ts';

/** What may be loaded before the sign-in, or before the list of sandboxes, is shown; compressed. */
const firstScriptBytes = 300_000;

let service: TestService;
let browser: TestBrowser;
useDashboard((dashboard) => {
  ({ service, browser } = dashboard);
});

/** The size of the scripts that the page has loaded, compressed. */
async function readScriptBytes(page: Page): Promise<number> {
  const loaded = (await page.evaluate(
    'performance.getEntriesByType("resource").map((entry) => entry.toJSON())',
  )) as readonly {
    readonly name: string;
    readonly encodedBodySize: number;
  }[];
  const scripts = loaded.filter(({ name }) => new URL(name).pathname.endsWith('.js'));
  const bytes = scripts.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0);
  console.log(`${scripts.length} scripts of ${(bytes / 1_000).toFixed(0)} kB for ${new URL(page.url()).pathname}`);
  return bytes;
}

const row = (page: Page, id: string) => page.getByRole('row').filter({ hasText: id });

it('loads little before the sign-in, which refuses a wrong password and leads to the page that was asked for', async () => {
  await using opened = await openPage(browser, service, '/keys');
  const { page, problems } = opened;
  await page.getByLabel('E-mail address').waitFor();
  const bytes = await readScriptBytes(page);
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThan(firstScriptBytes);
  await signIn(page, 'not the password');
  expect(await page.getByRole('alert').textContent()).toContain('wrong');
  await signIn(page);
  await heading(page, 'API keys').waitFor();
  expect(new URL(page.url()).pathname).toBe('/keys');
  await page.goto(`${service.url}/sandboxes`);
  await page.getByRole('heading', { name: 'Create an API key' }).waitFor();
  expect(await readScriptBytes(page)).toBeLessThan(firstScriptBytes);
  expect(problems).toEqual([]);
});

it('makes a key that is shown once and works, lists the sandbox that it creates as it is, and revokes it', async () => {
  await using opened = await openPage(browser, service, '/keys');
  const { page, problems } = opened;
  await signIn(page);
  await button(page, 'Create key').click();
  await page.getByLabel('Name').fill(hostileName);
  await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
  const key = await page.getByLabel('The key', { exact: true }).inputValue();
  const command = await page.getByRole('dialog').locator('pre code').textContent();
  expect(command).toContain(`Bearer ${key}`);
  const { stdout } = await promisify(execFile)('sh', ['-c', command ?? ''], { timeout: 60_000 });
  expect(JSON.parse(stdout)).toMatchObject({ object: 'account', email });
  await button(page, 'I have stored the key').click();
  await page.getByRole('row').filter({ hasText: hostileName }).waitFor();
  expect(await page.content()).not.toContain(key);

  const target = { url: service.url, key };
  const { id } = await createSandbox(target, { name: hostileName });
  expect(await output(target, id, 'echo from the key')).toBe('from the key');
  await page.getByRole('link', { name: 'Sandboxes', exact: true }).first().click();
  const row = page.getByRole('row').filter({ hasText: id });
  await expect.poll(() => row.textContent()).toContain('Running');
  expect(await row.textContent()).toContain(hostileName);

  await page.getByRole('link', { name: 'API keys' }).first().click();
  await page.getByRole('row').filter({ hasText: hostileName }).getByRole('button').click();
  await button(page, 'Revoke the key').click();
  await page.getByText('1 revoked key').waitFor();
  expect((await call(target, 'GET', '/sandboxes')).status).toBe(401);

  await call(service, 'DELETE', `/sandboxes/${id}`);
  await page.getByRole('link', { name: 'Sandboxes', exact: true }).first().click();
  await page.getByRole('radio', { name: 'Ended' }).check();
  await expect.poll(() => row.textContent()).toContain('Ended');
  expect(await page.title()).not.toContain('taken over');
  await signOut(page);
  expect(problems).toEqual([]);
});

it('leads from a session that has expired to the sign-in, and from there to the page that was asked for', async () => {
  await using opened = await openPage(browser, service, '/keys');
  const { page, problems } = opened;
  await signIn(page);
  await heading(page, 'API keys').waitFor();
  const { signIns } = service.core.store;
  const { id } = await findAccount(service.core, email);
  for (const session of await signIns.listSessions(id)) await signIns.touchSession(session.id, 0);
  await page.getByRole('link', { name: 'Usage', exact: true }).first().click();
  await signIn(page);
  await heading(page, 'Usage').waitFor();
  expect(new URL(page.url()).pathname).toBe('/usage');
  expect(problems).toEqual([]);
});

it('shows each of two people their own sandboxes only, in all of their tabs, without a reload; and says when one has all keys', async () => {
  const otherEmail = 'other@example.com';
  const { apiKey: key } = await createAccount(service.core, { email: otherEmail, creditMicroUsd: 5_000_000 });
  const link = new URL(signInLinkUrl(service.url, (await createLoginLink(service.core, otherEmail)).token));
  await using opened = await openPage(browser, service, '/sandboxes');
  await using others = await openPage(browser, service, `${link.pathname}${link.hash}`);
  const { page, problems } = opened;
  await signIn(page);
  await heading(page, 'Sandboxes').waitFor();
  const second = await page.context().newPage();
  await second.goto(`${service.url}/sandboxes`);
  await heading(second, 'Sandboxes').waitFor();
  await button(others.page, 'Sign in with the link').click();
  await others.page.getByLabel('New password').waitFor();
  await others.page.goto(`${service.url}/sandboxes`);
  await heading(others.page, 'Sandboxes').waitFor();

  const { id: mine } = await createSandbox(service);
  await row(page, mine).waitFor();
  await row(second, mine).waitFor();
  const { id: theirs } = await createSandbox({ url: service.url, key });
  await row(others.page, theirs).waitFor();
  expect(await row(others.page, mine).count()).toBe(0);
  await others.page.goto(`${service.url}/sandboxes/${mine}`);
  await heading(others.page, 'There is no such sandbox').waitFor();

  await button(page, `Actions for ${mine}`).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await button(page, 'Delete the sandbox').click();
  await row(second, mine).waitFor({ state: 'detached' });
  expect(await row(second, theirs).count()).toBe(0);
  await deleteSandbox({ url: service.url, key }, theirs);

  for (let keys = 1; keys < 9; keys += 1) await createKey(service.core, otherEmail);
  await others.page.goto(`${service.url}/keys`);
  await button(others.page, 'Create key').click();
  await others.page.getByText('9 of 10 active keys. One more can be created.').last().waitFor();
  await others.page.getByLabel('Name').fill('the tenth');
  await others.page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
  await button(others.page, 'I have stored the key').click();
  await others.page.getByText('10 of 10 active keys. Revoke one to create another.').waitFor();
  expect(await button(others.page, 'Create key').isDisabled()).toBe(true);
  expect([...problems, ...others.problems]).toEqual([]);
});

it('after a reset, a link signs in once and lets the person choose a password; a session that is ended elsewhere leads to the sign-in', async () => {
  const { token } = await resetSignIn(service.core, email);
  const link = new URL(signInLinkUrl(service.url, token));
  await using opened = await openPage(browser, service, `${link.pathname}${link.hash}`);
  const { page, problems } = opened;
  await button(page, 'Sign in with the link').click();
  expect(page.url()).not.toContain(token);
  await page.getByLabel('New password').fill('a password of my own');
  await button(page, 'Save the password').click();
  await heading(page, 'Sandboxes').waitFor();

  await using second = await openPage(browser, service, `${link.pathname}${link.hash}`);
  await button(second.page, 'Sign in with the link').click();
  expect(await second.page.getByRole('alert').textContent()).toContain('link');
  await button(second.page, 'Use a password instead').click();
  await signIn(second.page, 'a password of my own');
  await heading(second.page, 'Sandboxes').waitFor();
  await second.page.getByRole('link', { name: 'Settings', exact: true }).first().click();
  await second.page.getByRole('button', { name: /^End the session of / }).click();
  await second.page.getByRole('button', { name: /^End the session of / }).waitFor({ state: 'detached' });
  await page.getByLabel('E-mail address').waitFor();
  expect([...problems, ...second.problems]).toEqual([]);
});
