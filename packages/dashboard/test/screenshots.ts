// Takes screenshots of every page, light and dark, wide and narrow, with Debian's Chromium and made-up answers:
// `node packages/dashboard/test/screenshots.ts FOLDER [PART OF A NAME] [--axe]`. Fails if the page breaks the content security policy or throws. `--axe` also
// checks each picture with axe-core, prints what it finds and fails on what is serious or critical. `--docs` instead takes the pictures of docs/pictures.
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { auditPage, describeViolation, isGrave } from './axe.ts';
import { startFakeService } from './fake-service.ts';
import { session } from './sample-data.ts';
import { accountShots } from './shots/account.ts';
import { pictures } from './shots/documentation.ts';
import { listShots } from './shots/list.ts';
import { machineShots } from './shots/machine.ts';
import type { Shot } from './shots/shot.ts';
import { terminalShots } from './shots/terminal.ts';
import { usageShots } from './shots/usage.ts';

const shots = [...accountShots, ...listShots, ...machineShots, ...terminalShots, ...usageShots];
const screens = { wide: { width: 1360, height: 850 }, narrow: { width: 390, height: 844 } } as const;

const { values, positionals } = parseArgs({
  options: { axe: { type: 'boolean' }, docs: { type: 'boolean' } },
  allowPositionals: true,
});
const folder = values.docs
  ? resolve(import.meta.dirname, '../../../docs/pictures')
  : resolve(positionals[0] ?? 'screenshots');
const part = positionals[1] ?? '';
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
  if (values.docs) for (const picture of pictures) await take(picture, picture.theme, 'wide', `${picture.name}.png`);
  else await takeAll();
} finally {
  await browser.close();
}
if (problems.length > 0) throw new Error([...new Set(problems)].join('\n'));

async function takeAll(): Promise<void> {
  for (const shot of shots.filter(({ name }) => name.includes(part))) {
    for (const theme of ['light', 'dark'] as const) {
      for (const screen of ['wide', 'narrow'] as const) {
        await take(shot, theme, screen, `${shot.name}-${theme}-${screen}.png`).catch((error: unknown) => {
          problems.push(`${shot.name} (${theme}, ${screen}): ${String(error)}`);
        });
      }
    }
  }
}

async function take(shot: Shot, theme: 'light' | 'dark', screen: keyof typeof screens, file: string): Promise<void> {
  using service = await startFakeService();
  service.state.session = session;
  service.state.isExample = values.docs === true;
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
  await page.screenshot({ path: join(folder, file) });
  if (values.axe) {
    for (const violation of await auditPage(page)) {
      const text = `${shot.name} (${theme}, ${screen}): ${describeViolation(violation)}`;
      process.stdout.write(`${text}\n`);
      if (isGrave(violation)) problems.push(`${shot.name}: axe-core found ${violation.id}`);
    }
  }
  await context.close();
}
