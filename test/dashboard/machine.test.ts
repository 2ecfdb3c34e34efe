import { expect, it } from 'vitest';
import { createSandbox, deleteSandbox, output } from '../support/api-requests.ts';
import type { TestBrowser } from '../support/browser.ts';
import type { TestService } from '../support/test-service.ts';
import { button, hostileName, openPage, signIn, useDashboard } from './harness.ts';

/** Beyond what a page holds of the output of one command. */
const floodLines = 300_000;

let service: TestService;
let browser: TestBrowser;
let id: string;
useDashboard(async (dashboard) => {
  ({ service, browser } = dashboard);
  ({ id } = await createSandbox(service, { name: hostileName, timeout_minutes: 60 }));
});

async function openSandbox(tab = '') {
  const opened = await openPage(browser, service, `/sandboxes/${id}${tab}`);
  await signIn(opened.page);
  await opened.page.getByRole('heading', { name: hostileName, exact: true }).waitFor();
  return opened;
}

it('shows what a sandbox is and, live, what it uses', async () => {
  await using opened = await openSandbox();
  const { page, problems } = opened;
  await page.getByText(/\d+ process(es)?, up for/).waitFor();
  for (const title of ['CPU', 'Memory', 'Network', 'Disk']) {
    await page.getByRole('slider', { name: `${title}, the last minutes` }).waitFor();
  }
  expect(await page.getByRole('region', { name: 'Details' }).textContent()).toContain('2');
  expect(await page.title()).not.toBe('taken over');

  const timeLeft = page.getByRole('definition').first();
  const readBar = () =>
    timeLeft
      .locator('[aria-hidden] > div')
      .getAttribute('style')
      .then((style) => Number.parseFloat(style?.slice('width: '.length) ?? ''));
  expect(await timeLeft.textContent()).toMatch(/^5\d min$/);
  const before = await readBar();
  await expect.poll(readBar).toBeLessThan(before);
  const shrunk = await readBar();
  await button(page, 'Extend').click();
  await page.getByLabel('How much longer').fill('600');
  await page.getByRole('dialog').getByRole('button', { name: 'Extend', exact: true }).click();
  await expect.poll(() => timeLeft.textContent()).toMatch(/^10 h 5\d min$/);
  expect(await readBar()).toBeGreaterThan(shrunk);
  expect(problems).toEqual([]);
});

it('runs a command that reads its input, keeps up with a flood of output, and finds it again after a reload', async () => {
  await using opened = await openSandbox('/commands');
  const { page, problems } = opened;
  const shown = page.getByRole('region', { name: /^Output of / });
  await page
    .getByLabel('Command', { exact: true })
    .fill(`read line; echo "<b>$line</b>"; seq ${floodLines}; sleep 600`);
  await page.keyboard.press('Enter');
  await page.getByLabel('Send a line to the standard input').fill('from the page');
  await page.keyboard.press('Enter');
  await shown.getByText(`${floodLines}`, { exact: true }).waitFor();
  await shown.getByText('no longer shown').waitFor();

  await page.reload();
  await shown.getByText(`${floodLines}`, { exact: true }).waitFor();
  await page.getByLabel('Search in the output').fill(`${floodLines - 7}`);
  await shown.getByText('1 found').waitFor();
  await button(page, 'Next match').click();
  await shown.getByText('1 of 1').waitFor();

  await button(page, 'Stop: send a signal').click();
  await page.getByRole('menuitem', { name: 'Terminate (TERM)' }).click();
  await shown.getByText('Exit 143 (TERM)').waitFor();
  await page.getByLabel('Command', { exact: true }).press('ArrowUp');
  expect(await page.getByLabel('Command', { exact: true }).inputValue()).toContain('read line');
  expect(problems).toEqual([]);
});

it('shows markup and escape sequences in the output as text that does nothing', async () => {
  await using opened = await openSandbox('/commands');
  const { page, problems } = opened;
  const title = await page.title();
  const sequences =
    '\\033]0;taken over\\007\\033]8;;javascript:document.title=1\\033\\\\a link\\033]8;;\\033\\\\ \\033[2Jthe end';
  await page.getByLabel('Command', { exact: true }).fill(`printf '${hostileName}\\n${sequences}\\n' | tee /dev/stderr`);
  await page.keyboard.press('Enter');
  const output = page.getByRole('log');
  await output.getByText(hostileName).first().waitFor();
  await output.getByText('the end').first().waitFor();
  expect(await output.locator('img, a').count()).toBe(0);
  expect(await page.title()).toBe(title);
  expect(problems).toEqual([]);
});

it('opens a port that works and shows it in a frame, which the policy of the page allows, and closes it', async () => {
  const server =
    'printf "<h1>from the guest</h1>" > index.html; (setsid python3 -m http.server 3000 >/dev/null 2>&1 &); echo started';
  expect(await output(service, id, server)).toBe('started');
  await using opened = await openSandbox('/ports');
  const { page, problems } = opened;
  await page.getByLabel('Port', { exact: true }).fill('70000');
  await page.keyboard.press('Enter');
  await page.getByText('A port is a number from 1 to 65,535.').waitFor();
  await page.getByLabel('Port', { exact: true }).fill('3000');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Show here' }).click();
  const frame = page.getByTitle('Page on port 3000');
  expect(await frame.getAttribute('sandbox')).toBe('allow-scripts allow-same-origin allow-forms');
  // Chromium does not trust the service's own certificate, which is what the line below the frame is about.
  await page.getByText('Nothing here?').waitFor();
  await button(page, 'Close port 3000').click();
  await button(page, 'Close the port').click();
  await page.getByText('No open port').waitFor();
  expect(problems.filter((problem) => problem.includes('Content Security Policy'))).toEqual([]);
});

it('takes a snapshot and rolls back to it, and of an ended sandbox shows why it ended and what it printed', async () => {
  await using opened = await openSandbox('/snapshots');
  const { page, problems } = opened;
  await output(service, id, 'echo kept > /workspace/state');
  await button(page, 'Take a snapshot').click();
  await page.getByLabel('Name').fill('a state');
  await button(page, 'Take the snapshot').click();
  await page.getByRole('heading', { name: 'Snapshot taken' }).waitFor();
  await page.keyboard.press('Escape');
  await output(service, id, 'echo lost > /workspace/state');
  await button(page, 'Roll back to a state').click();
  await button(page, 'Roll it back').click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(await output(service, id, 'cat /workspace/state')).toBe('kept');

  await deleteSandbox(service, id);
  await page.getByText('Deleted by you or a program').waitFor();
  await page.getByRole('link', { name: 'Ports', exact: true }).click();
  await page.getByText('A port needs a running machine').waitFor();
  await page.getByRole('link', { name: 'Its commands' }).click();
  await page.getByRole('listitem').filter({ hasText: 'Exit 0' }).first().click();
  await page.getByRole('log').getByText('kept').waitFor();
  expect(problems).toEqual([]);
});
