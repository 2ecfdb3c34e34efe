import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { call, createSandbox } from '../support/api-requests.ts';
import type { TestBrowser } from '../support/browser.ts';
import type { TestService } from '../support/test-service.ts';
import { button, heading, openPage, signIn, useDashboard } from './harness.ts';

let service: TestService;
let browser: TestBrowser;
useDashboard((dashboard) => {
  ({ service, browser } = dashboard);
});

it('shows what a running sandbox costs, in the chart, as a table and as a file, and which limits it uses', async () => {
  const { id } = await createSandbox(service);
  await using opened = await openPage(browser, service, '/usage');
  const { page, problems } = opened;
  await signIn(page);
  await heading(page, 'Usage').waitFor();
  await page.getByText('1 small', { exact: true }).waitFor();
  await page
    .getByText(/^1 of [\d,]+$/)
    .first()
    .waitFor();

  await page.getByRole('radio', { name: '7 days' }).check();
  await expect.poll(() => new URL(page.url()).search).toBe('?days=7');
  await page.getByRole('radio', { name: 'Runtime' }).check();
  await expect.poll(() => new URL(page.url()).search).toContain('show=runtime');
  const chart = page.getByRole('slider', { name: 'Day' });
  await chart.focus();
  await page.keyboard.press('Home');
  await expect.poll(() => chart.getAttribute('aria-valuenow')).toBe('1');
  await page.keyboard.press('End');
  await expect.poll(() => chart.getAttribute('aria-valuenow')).toBe('7');

  await page.getByText('The numbers as a table').click();
  await page.getByRole('row').filter({ hasText: 'Small' }).first().waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), button(page, 'Download as CSV').click()]);
  expect(download.suggestedFilename()).toMatch(/^mayfly-usage-[\d-]+\.csv$/);
  const [header, row] = (await readFile(await download.path(), 'utf8')).split('\r\n');
  expect(header).toBe('date,item,cost_usd,runtime_seconds,sandboxes_started');
  expect(row).toMatch(/^\d{4}-\d\d-\d\d,small,[\d.e-]+,[\d.]+,1$/);

  await page.reload();
  await page.getByRole('radio', { name: '7 days', checked: true }).waitFor();
  await call(service, 'DELETE', `/sandboxes/${id}`);
  await page.reload();
  await page.getByText('no sandbox is running').waitFor();
  expect(problems).toEqual([]);
});
