import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { call, createSandbox, output } from '../support/api-requests.ts';
import type { TestBrowser } from '../support/browser.ts';
import type { TestService } from '../support/test-service.ts';
import { button, heading, hostileName, openPage, signIn, useDashboard } from './harness.ts';

let service: TestService;
let browser: TestBrowser;
useDashboard((dashboard) => {
  ({ service, browser } = dashboard);
});

const row = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });
const dialog = (page: Page) => page.getByRole('dialog');
const chooseInMenu = async (page: Page, name: string, item: string) => {
  await button(page, `Actions for ${name}`).click();
  await page.getByRole('menuitem', { name: item }).click();
};
/** The id of the sandbox whose page is open. */
async function idInAddress(page: Page): Promise<string> {
  await page.waitForURL(/\/sandboxes\/sbx_\w+/);
  return /sbx_\w+/.exec(page.url())?.[0] ?? expect.fail(`There is no id in ${page.url()}`);
}

it('leads a new account to its first sandbox and ticks off a command that is run from outside', async () => {
  await using opened = await openPage(browser, service, '/sandboxes');
  const { page, problems } = opened;
  await signIn(page);
  const steps = page.getByRole('region', { name: 'First steps' });
  await button(page, 'Or create it here').click();
  await dialog(page).getByLabel('Name', { exact: true }).fill(hostileName);
  expect(await dialog(page).getByRole('region', { name: 'Code for curl' }).textContent()).toContain(service.url);
  await dialog(page).getByRole('button', { name: 'Create sandbox' }).click();
  const id = await idInAddress(page);
  await heading(page, hostileName).waitFor();
  for (const action of ['Extend', 'Snapshot', 'Fork', 'Delete']) {
    await button(page, action).click();
    await dialog(page).waitFor();
    expect(await page.locator('img[src="x"]').count()).toBe(0);
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'detached' });
  }
  expect(await page.title()).toBe(`${hostileName} · Mayfly`);

  await page.getByRole('link', { name: 'Sandboxes', exact: true }).first().click();
  await steps.getByText('is running.').waitFor();
  expect(await steps.textContent()).toContain(`/v1/sandboxes/${id}/exec`);
  expect(await output(service, id, 'echo from outside')).toBe('from outside');
  await steps.getByRole('heading', { name: 'That was all' }).waitFor();
  await steps.getByRole('button', { name: 'Done' }).click();
  await steps.waitFor({ state: 'detached' });
  expect(await row(page, id).textContent()).toContain(hostileName);
  expect(await page.title()).not.toContain('taken over');
  await call(service, 'DELETE', `/sandboxes/${id}`);
  expect(problems).toEqual([]);
});

it('finds sandboxes by what is in the address, extends and deletes several at once, and says what became of each', async () => {
  const names = ['web 1', 'web 2', 'worker'];
  const made = await Promise.all(names.map((name) => createSandbox(service, { name, timeout_minutes: 20 })));
  const [web1, web2, worker] = made.map(({ id }) => id);
  if (web1 === undefined || web2 === undefined || worker === undefined) return expect.fail('Three were made.');
  await using opened = await openPage(browser, service, '/sandboxes?q=web&sort=name');
  const { page, problems } = opened;
  await signIn(page);
  await row(page, web2).waitFor();
  expect(await row(page, worker).count()).toBe(0);
  await page.getByLabel('Search by name or id').fill(worker);
  await row(page, worker).waitFor();
  await page.waitForURL((url) => url.searchParams.get('q') === worker && url.searchParams.get('sort') === 'name');
  await page.getByLabel('Search by name or id').fill('');
  await row(page, web1).waitFor();

  await page.getByLabel('Select web 1').click();
  await page.getByLabel('Select worker').click({ modifiers: ['Shift'] });
  const selected = page.getByRole('region', { name: 'Selected sandboxes' });
  await selected.getByText('3 selected').waitFor();
  await selected.getByRole('button', { name: 'Extend' }).click();
  await dialog(page).getByRole('button', { name: '30 min' }).click();
  await dialog(page).getByRole('button', { name: 'Extend', exact: true }).click();
  await dialog(page).getByText('All 3 done.').waitFor();
  await dialog(page).getByRole('button', { name: 'Done' }).click();
  for (const id of [web1, web2, worker]) {
    const { timeout_minutes } = (await (await call(service, 'GET', `/sandboxes/${id}`)).json()) as {
      readonly timeout_minutes: number;
    };
    expect(timeout_minutes).toBe(50);
  }

  await page.getByLabel('Select web 1').click();
  await page.getByLabel('Select worker').click({ modifiers: ['Shift'] });
  await selected.getByRole('button', { name: 'Delete' }).click();
  await dialog(page).getByRole('button', { name: 'Delete 3 sandboxes' }).click();
  await dialog(page).getByText('All 3 done.').waitFor();
  await dialog(page).getByRole('button', { name: 'Done' }).click();
  await page.getByRole('radio', { name: 'All', exact: true }).check();
  for (const id of [web1, web2, worker]) await expect.poll(() => row(page, id).textContent()).toContain('Ended');
  expect(problems).toEqual([]);
});

it('forks a sandbox, takes a snapshot of it, and creates one from the snapshot that has the same files', async () => {
  const { id: original } = await createSandbox(service, { name: 'original' });
  await output(service, original, 'echo kept > kept.txt');
  await using opened = await openPage(browser, service, '/sandboxes');
  const { page, problems } = opened;
  await signIn(page);
  await chooseInMenu(page, 'original', 'Fork');
  await dialog(page).getByLabel('Copies', { exact: true }).fill('2');
  await dialog(page).getByLabel('Name of the copies').fill('copy');
  await dialog(page).getByRole('button', { name: 'Make 2 copies' }).click();
  await dialog(page).getByRole('heading', { name: 'Copies made' }).waitFor();
  const copies = await dialog(page).getByRole('link').count();
  expect(copies).toBe(2);
  await dialog(page).getByRole('button', { name: 'Done' }).click();

  await chooseInMenu(page, 'original', 'Take a snapshot');
  await dialog(page).getByLabel('Name', { exact: true }).fill('with a file');
  await dialog(page).getByLabel('Alias').fill('kept');
  await dialog(page).getByRole('button', { name: 'Take the snapshot' }).click();
  await dialog(page).getByRole('link', { name: 'Show the snapshots' }).click();
  await heading(page, 'Snapshots').waitFor();
  expect(await row(page, 'with a file').textContent()).toContain('kept');
  await chooseInMenu(page, 'with a file', 'Create a sandbox from it');
  await dialog(page).getByRole('button', { name: 'Create sandbox' }).click();
  const id = await idInAddress(page);
  expect(await output(service, id, 'cat kept.txt')).toBe('kept');

  await page.getByRole('link', { name: 'Snapshots', exact: true }).first().click();
  await chooseInMenu(page, 'with a file', 'Delete');
  await button(page, 'Delete the snapshot').click();
  await page.getByText('No snapshot yet').waitFor();
  expect(problems).toEqual([]);
});
