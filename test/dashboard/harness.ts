import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { findChromium, launchBrowser, type TestBrowser } from '../support/browser.ts';
import { unlimitedRates } from '../support/service-settings.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

export const email = 'admin@localhost';
export const password = 'correct horse battery staple';
/** Would run if a page showed it as anything but text. */
export const hostileName = '<img src=x onerror="document.title=`taken over`">';

/** What the tests of a file share. */
export interface Dashboard {
  readonly service: TestService;
  /** Trusts the certificates of previews. */
  readonly browser: TestBrowser;
}

/** Starts a service and Chromium before the tests of a file, passes them on, and stops them afterwards. Without Chromium the tests are skipped. */
export function useDashboard(onStarted: (dashboard: Dashboard) => void | Promise<void>): void {
  const stack = new AsyncDisposableStack();
  let hasChromium = false;
  beforeAll(async () => {
    hasChromium = (await findChromium()) !== undefined;
    if (!hasChromium) return;
    const service = await startTestService({ ...unlimitedRates, MAYFLY_BOOTSTRAP_PASSWORD: password });
    stack.defer(() => service.stop());
    const browser = await launchBrowser(service.previewRootFile);
    stack.defer(() => browser.close());
    await onStarted({ service, browser });
  });
  afterAll(() => stack.disposeAsync());
  beforeEach((context) => {
    if (!hasChromium) context.skip('needs Chromium, for which this distribution has no package');
  });
}

/** Opens a page in a browser profile of its own. `problems` is what broke the content security policy or was thrown in it. */
export async function openPage(browser: TestBrowser, { url }: Pick<TestService, 'url'>, path: string) {
  const page = await browser.open('about:blank');
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    // Chromium reports every answer of 4xx this way.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      problems.push(message.text());
  });
  await page.goto(`${url}${path}`);
  return { page, problems, [Symbol.asyncDispose]: () => page.close() };
}

export const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
export const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true });

export async function signIn(page: Page, typed = password): Promise<void> {
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(typed);
  await button(page, 'Sign in').click();
}

export async function signOut(page: Page): Promise<void> {
  await button(page, `Account ${email}`).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByLabel('E-mail address').waitFor();
}
