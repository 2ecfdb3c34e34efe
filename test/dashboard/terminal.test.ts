import type { Page, WebSocketRoute } from 'playwright-core';
import { expect, it } from 'vitest';
import { call, createSandbox, output } from '../support/api-requests.ts';
import type { TestBrowser } from '../support/browser.ts';
import type { TestService } from '../support/test-service.ts';
import { button, openPage, signIn, useDashboard } from './harness.ts';

let service: TestService;
let browser: TestBrowser;
let id: string;
useDashboard(async (dashboard) => {
  ({ service, browser } = dashboard);
  ({ id } = await createSandbox(service));
});

const shown = '[role="tabpanel"]:not([hidden])';
const prompts = (page: Page, text: string) => page.locator(`${shown} .xterm-rows`, { hasText: text }).waitFor();
async function type(page: Page, line: string): Promise<void> {
  await page.locator(`${shown} .xterm-helper-textarea`).focus();
  await page.keyboard.type(`${line}\n`);
}

/** The size of its screen as a program is told it. */
async function readSize(page: Page, when: string): Promise<{ readonly rows: number; readonly columns: number }> {
  await type(page, `echo "${when} $(stty size)."`);
  const pattern = new RegExp(`${when}\\s(\\d+)\\s(\\d+)\\.`);
  const screen = page.locator(`${shown} .xterm-rows`, { hasText: pattern });
  const [, rows, columns] = pattern.exec((await screen.textContent()) ?? '') ?? [];
  return { rows: Number(rows), columns: Number(columns) };
}

it('opens terminals side by side, and brings them back after a reload, or as detached ones', async () => {
  await using opened = await openPage(browser, service, `/sandboxes/${id}/terminal`);
  const { page, problems } = opened;
  await signIn(page);
  await prompts(page, '$');
  await type(page, 'echo first-$((40 + 2))');
  await prompts(page, 'first-42');
  await button(page, 'New terminal').click();
  await prompts(page, '$');
  await type(page, 'echo second-$((1 + 1)); printf "\\e]0;<img src=x>\\u202e\\e\\\\"; read');
  await prompts(page, 'second-2');
  await expect.poll(() => page.getByRole('tab').nth(1).textContent()).toContain('<img src=x>');

  await page.reload();
  await expect.poll(() => page.getByRole('tab').count()).toBe(2);
  await prompts(page, 'second-2');
  await type(page, '');
  await page.getByRole('tab').first().click();
  await prompts(page, 'first-42');
  await page.keyboard.press('Control+Shift+L');
  await page.keyboard.press('Delete');
  await button(page, 'Keep it running').click();
  await page.reload();
  await button(page, 'Detached terminals: 1').click();
  await page.getByRole('menuitem').click();
  await expect.poll(() => page.getByRole('tab').count()).toBe(2);
  expect(problems).toEqual([]);
});

it('interrupts a command, tells it the size of the screen, and brings vim and top back after a reload', async () => {
  await using opened = await openPage(browser, service, `/sandboxes/${id}/terminal`);
  const { page, problems } = opened;
  await signIn(page);
  await button(page, 'New terminal').click();
  await prompts(page, '$');
  await type(page, 'sleep 1000');
  await output(service, id, 'until pgrep -x sleep; do sleep 0.1; done');
  await page.keyboard.press('Control+c');
  await type(page, 'echo ended with $?');
  await prompts(page, 'ended with 130');

  const before = await readSize(page, 'before');
  await page.setViewportSize({ width: 900, height: 1000 });
  await expect.poll(() => page.locator(`${shown} .xterm-rows > div`).count()).toBeGreaterThan(before.rows);
  const after = await readSize(page, 'after');
  expect(after.rows).toBe(await page.locator(`${shown} .xterm-rows > div`).count());
  expect(after.columns).toBeLessThan(before.columns);
  await type(page, `clear; head -c ${before.columns + after.columns} /dev/zero | tr '\\0' x; echo`);
  // The screen breaks a long line where it ends itself.
  const lines = () => page.locator(`${shown} .xterm-rows > div`).allTextContents();
  await expect.poll(async () => (await lines()).find((line) => /^x+$/.test(line))?.length).toBe(after.columns);

  await type(page, 'clear; vim -u NONE --cmd "set nocp showmode" story.txt');
  await prompts(page, '"story.txt" [New]');
  await page.keyboard.type('iwritten in vim');
  await prompts(page, '-- INSERT --');
  await page.reload();
  await prompts(page, 'written in vim');
  await prompts(page, '-- INSERT --');
  await page.locator(`${shown} .xterm-helper-textarea`).focus();
  await page.keyboard.press('Escape');
  await type(page, ':wq');
  await page.locator(`${shown} .xterm-rows`, { hasText: 'INSERT' }).waitFor({ state: 'detached' });
  await prompts(page, '$');
  expect(await output(service, id, 'cat story.txt')).toBe('written in vim');

  await type(page, 'top -d 1');
  await prompts(page, 'load average');
  await page.reload();
  await prompts(page, 'load average');
  await type(page, 'q');
  await page.locator(`${shown} .xterm-rows`, { hasText: 'load average' }).waitFor({ state: 'detached' });
  await type(page, 'echo top-$((40 + 3))');
  await prompts(page, 'top-43');
  expect(problems).toEqual([]);
});

it('says how a shell exited, starts another one, and ends it when its tab is closed', async () => {
  await using opened = await openPage(browser, service, `/sandboxes/${id}/terminal`);
  const { page, problems } = opened;
  await signIn(page);
  await prompts(page, '$');
  await type(page, 'exit 7');
  await page.getByText('The shell exited with code 7').waitFor();
  await button(page, 'Start a new shell').click();
  await prompts(page, '$');
  const before = await page.getByRole('tab').count();
  await page.keyboard.press('Control+Shift+L');
  await page.keyboard.press('Delete');
  await button(page, 'End the shell').click();
  await expect.poll(() => page.getByRole('tab').count()).toBe(before - 1);
  expect(problems).toEqual([]);
});

it('attaches again when its connection was lost, and tells when the sandbox is gone', async () => {
  await using opened = await openPage(browser, service, `/sandboxes/${id}/terminal`);
  const { page, problems } = opened;
  await signIn(page);
  await prompts(page, '$');
  const sockets: WebSocketRoute[] = [];
  await page.routeWebSocket(/\/pty\?/, (socket) => {
    socket.connectToServer();
    sockets.push(socket);
  });
  await page.reload();
  await prompts(page, '$');
  await type(page, 'echo before-$((2 + 3))');
  await prompts(page, 'before-5');
  await Promise.all(sockets.map((socket) => socket.close({ code: 3000 })));
  await page.getByText('The connection was lost').waitFor();
  await prompts(page, 'before-5');
  await page.getByText('The connection was lost').waitFor({ state: 'detached' });
  await type(page, 'echo after-$((3 + 3))');
  await prompts(page, 'after-6');
  await call(service, 'DELETE', `/sandboxes/${id}`);
  await page.getByText('needs a running machine').waitFor();
  expect(problems).toEqual([]);
});
