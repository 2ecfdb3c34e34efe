import { expect, it } from 'vitest';
import { auditPage, describeViolation, isGrave } from '#dashboard-test/axe.ts';
import type { TestBrowser } from '../support/browser.ts';
import type { TestService } from '../support/test-service.ts';
import { button, email, heading, openPage, password, signIn, useDashboard } from './harness.ts';
import { pressUntil, readFocusedName } from './keyboard.ts';

/** The main pages, with a text that each shows once it knows what it is about. */
const pages = {
  '/sandboxes': 'Create an API key',
  '/snapshots': 'No snapshot yet',
  '/keys': 'Last used',
  '/usage': 'This minute',
  '/settings': 'this browser',
} as const;

let service: TestService;
let browser: TestBrowser;
useDashboard((dashboard) => {
  ({ service, browser } = dashboard);
});

it.each(['light', 'dark'] as const)(
  'axe-core finds nothing serious on the main pages in the %s theme',
  async (theme) => {
    await using opened = await openPage(browser, service, '/sign-in');
    const { page, problems } = opened;
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    const findings: string[] = [];
    const audit = async (name: string) => {
      for (const violation of await auditPage(page)) {
        if (isGrave(violation)) findings.push(`${name}: ${describeViolation(violation)}`);
      }
    };
    await page.getByLabel('E-mail address').waitFor();
    await audit('/sign-in');
    await signIn(page);
    await heading(page, 'Sandboxes').waitFor();
    for (const [path, text] of Object.entries(pages)) {
      await page.goto(`${service.url}${path}`);
      await page.getByText(text).first().waitFor();
      await audit(path);
    }
    expect(findings).toEqual([]);
    expect(problems).toEqual([]);
  },
);

it('the keyboard alone signs in, creates a key, skips to the content and signs out', async () => {
  await using opened = await openPage(browser, service, '/keys');
  const { page, problems } = opened;
  await page.getByLabel('E-mail address').focus();
  await page.keyboard.type(email);
  await pressUntil(page, 'Tab', 'Password');
  await page.keyboard.type(password);
  await page.keyboard.press('Enter');

  await heading(page, 'API keys').waitFor();
  await expect.poll(() => readFocusedName(page)).toBe('API keys');
  await button(page, 'Create key').waitFor();
  await expect.poll(() => button(page, 'Create key').isEnabled()).toBe(true);
  await pressUntil(page, 'Tab', 'Create key');
  await page.keyboard.press('Enter');
  await expect.poll(() => readFocusedName(page)).toBe('Name');
  await page.keyboard.type('made by keyboard');
  await page.keyboard.press('Enter');
  await page.getByLabel('The key', { exact: true }).waitFor();
  await pressUntil(page, 'Tab', 'I have stored the key');
  await page.keyboard.press('Enter');
  await page.getByRole('row').filter({ hasText: 'made by keyboard' }).waitFor();

  await pressUntil(page, 'Shift+Tab', 'Skip to the content');
  await page.keyboard.press('Enter');
  expect(await page.evaluate('document.activeElement.id')).toBe('main');
  await pressUntil(page, 'Shift+Tab', 'Usage');
  await page.keyboard.press('Enter');
  // The link has the same name as the heading, which gets the focus when the page is there.
  await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('H1');
  expect(await readFocusedName(page)).toBe('Usage');

  await pressUntil(page, 'Shift+Tab', `Account ${email}`);
  await page.keyboard.press('Enter');
  await pressUntil(page, 'ArrowDown', 'Sign out');
  await page.keyboard.press('Enter');
  await page.getByLabel('E-mail address').waitFor();
  expect(problems).toEqual([]);
});
