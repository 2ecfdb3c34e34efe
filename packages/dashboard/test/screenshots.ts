// Takes screenshots of every page, light and dark, wide and narrow, with Debian's Chromium and made-up answers:
// `node packages/dashboard/test/screenshots.ts FOLDER [PART OF A NAME]`. Fails if the page breaks the content security policy or throws.
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { type FakeState, startFakeService } from './fake-service.ts';
import { keys, session } from './sample-data.ts';

interface Shot {
  readonly name: string;
  readonly path: string;
  readonly prepare?: (state: FakeState) => void;
  readonly act?: (page: Page, state: FakeState) => Promise<void>;
}

const signedOut = (state: FakeState) => {
  state.session = undefined;
};
const signIn = async (page: Page) => {
  await page.getByLabel('E-mail address').fill('ada@example.com');
  await page.getByLabel('Password', { exact: true }).fill('correct horse battery');
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
};
const manyKeys = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ ...keys[index % 4], id: `key_${index}` }) as (typeof keys)[number]);

const shots: readonly Shot[] = [
  { name: 'sign-in', path: '/sign-in', prepare: signedOut },
  {
    name: 'sign-in-wrong',
    path: '/keys',
    prepare: (state) => {
      signedOut(state);
      const message = 'The e-mail address or the password is wrong.';
      state.failures.set('POST /session', [401, 'wrong_credentials', message]);
    },
    act: async (page) => {
      await signIn(page);
      await page.getByRole('alert').waitFor();
    },
  },
  {
    name: 'sign-in-code',
    path: '/sign-in',
    prepare: (state) => {
      signedOut(state);
      state.failures.set('POST /session', [401, 'code_required', 'Send a code.']);
    },
    act: async (page) => {
      await signIn(page);
      await page.getByLabel('Code').fill('492 039');
    },
  },
  {
    name: 'sign-in-link',
    path: '/sign-in#link=made-up',
    prepare: signedOut,
    act: async (page) => {
      if (page.url().includes('made-up')) throw new Error(`The token is still in the address: ${page.url()}`);
    },
  },
  {
    name: 'sign-in-new-password',
    path: '/sign-in#link=made-up',
    prepare: signedOut,
    act: async (page) => {
      await page.getByRole('button', { name: 'Sign in with the link' }).click();
      await page.getByLabel('New password').fill('too short');
      await page.getByRole('button', { name: 'Save the password' }).click();
    },
  },
  { name: 'sandboxes', path: '/sandboxes' },
  { name: 'sandboxes-all', path: '/sandboxes?status=all' },
  {
    name: 'sandboxes-first',
    path: '/sandboxes',
    prepare: (state) => {
      state.hasSandboxes = false;
      state.keys = [];
    },
    act: async (page) => {
      await page.getByText('TypeScript').click();
    },
  },
  {
    name: 'sandboxes-none-failed',
    path: '/sandboxes?status=failed',
    prepare: (state) => {
      state.hasSandboxes = false;
    },
  },
  {
    name: 'sandboxes-error',
    path: '/sandboxes',
    prepare: (state) => {
      const message = 'The service failed unexpectedly. If it keeps failing, give the request id to the operator.';
      state.failures.set('GET /sandboxes', [500, 'internal_error', message]);
    },
  },
  { name: 'keys', path: '/keys' },
  {
    name: 'keys-none',
    path: '/keys',
    prepare: (state) => {
      state.keys = [];
    },
  },
  {
    name: 'keys-near-limit',
    path: '/keys',
    prepare: (state) => {
      state.keys = manyKeys(9);
    },
  },
  {
    name: 'keys-create',
    path: '/keys',
    act: async (page) => {
      await page.getByRole('button', { name: 'Create key' }).click();
    },
  },
  {
    name: 'keys-created',
    path: '/keys',
    act: async (page) => {
      await page.getByRole('button', { name: 'Create key' }).click();
      await page.getByLabel('Name').fill('CI of the web shop');
      await page.keyboard.press('Enter');
      await page.getByLabel('The key', { exact: true }).waitFor();
    },
  },
  {
    name: 'keys-revoke',
    path: '/keys',
    act: async (page) => {
      await page.getByRole('button', { name: 'Revoke Laptop of Ada' }).click();
    },
  },
  { name: 'settings', path: '/settings' },
  {
    name: 'settings-password',
    path: '/settings',
    act: async (page) => {
      await page.getByRole('button', { name: 'Change the password' }).click();
    },
  },
  {
    name: 'settings-two-factor',
    path: '/settings',
    act: async (page) => {
      await page.getByRole('button', { name: 'Set it up' }).click();
      await page.getByLabel('Code', { exact: true }).waitFor();
    },
  },
  {
    name: 'settings-recovery-codes',
    path: '/settings',
    act: async (page) => {
      await page.getByRole('button', { name: 'Set it up' }).click();
      await page.getByLabel('Code', { exact: true }).fill('492039');
      await page.getByRole('button', { name: 'Enable', exact: true }).click();
      await page.getByRole('button', { name: 'I have stored them' }).waitFor();
    },
  },
  {
    name: 'account-menu',
    path: '/keys',
    act: async (page) => {
      await page.getByRole('button', { name: /^Account/ }).click();
      await page.keyboard.press('ArrowDown');
    },
  },
  { name: 'theme-menu', path: '/keys', act: (page) => page.getByRole('button', { name: /^Theme/ }).click() },
  { name: 'not-found', path: '/sandboxes/nothing/here' },
  {
    name: 'page-error',
    path: '/settings',
    prepare: (state) => {
      const message = 'The service failed unexpectedly. If it keeps failing, give the request id to the operator.';
      state.failures.set('GET /session', [500, 'internal_error', message]);
    },
  },
  {
    name: 'connection-lost',
    path: '/sandboxes',
    act: async (page, state) => {
      state.isDown = true;
      await page.getByText('The service cannot be reached.').waitFor();
    },
  },
];

const screens = { wide: { width: 1360, height: 850 }, narrow: { width: 390, height: 844 } } as const;

const folder = resolve(process.argv[2] ?? 'screenshots');
const part = process.argv[3] ?? '';
mkdirSync(folder, { recursive: true });
const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args });
const problems: string[] = [];
try {
  for (const shot of shots.filter(({ name }) => name.includes(part))) {
    for (const theme of ['light', 'dark'] as const) {
      for (const screen of ['wide', 'narrow'] as const) await take(browser, shot, theme, screen);
    }
  }
} finally {
  await browser.close();
}
if (problems.length > 0) throw new Error([...new Set(problems)].join('\n'));

async function take(browser: Browser, shot: Shot, theme: 'light' | 'dark', screen: keyof typeof screens) {
  using service = await startFakeService();
  service.state.session = session;
  shot.prepare?.(service.state);
  const context = await browser.newContext({ colorScheme: theme, viewport: screens[screen], reducedMotion: 'reduce' });
  const page = await context.newPage();
  page.on('pageerror', (error) => problems.push(`${shot.name}: ${error.message}`));
  page.on('console', (message) => {
    const text = message.text();
    // What the browser and React say about answers that are meant to fail.
    const isExpected = text.startsWith('Failed to load resource') || text.includes('RequestFailure');
    if (message.type() === 'error' && !isExpected) problems.push(`${shot.name}: ${text}`);
  });
  await page.goto(`${service.url}${shot.path}`);
  await page.locator('h1').first().waitFor();
  await page.locator('[aria-busy], .skeleton').waitFor({ state: 'detached' });
  await shot.act?.(page, service.state);
  await page.evaluate('document.fonts.ready');
  const isWider = await page.evaluate<boolean>(
    'document.documentElement.scrollWidth > document.documentElement.clientWidth',
  );
  if (isWider) problems.push(`${shot.name}: the page is wider than the ${screen} screen`);
  await page.screenshot({ path: join(folder, `${shot.name}-${theme}-${screen}.png`) });
  await context.close();
}
