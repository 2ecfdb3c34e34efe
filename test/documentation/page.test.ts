import { defaultLimits } from '@mayfly/contract';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { contentSecurityPolicy, renderReference } from '#server/http/reference/page.ts';
import { findChromium, launchBrowser, type TestBrowser } from '../support/browser.ts';

const hasChromium = (await findChromium()) !== undefined;
let browser: TestBrowser;
let page: Page;
/** What the page requested, and what the browser complained about. */
let requested: string[];
let problems: string[];
beforeAll(async () => {
  if (hasChromium) browser = await launchBrowser(undefined);
});
afterAll(() => browser?.close());
beforeEach(async (context) => {
  if (!hasChromium) return context.skip('Chromium is not installed');
  page = await browser.open('about:blank');
  requested = [];
  problems = [];
  page.on('console', (message) => problems.push(message.text()));
  // Answered here, because Chromium gives up a page when a network interface of the host appears or vanishes.
  const { page: body } = renderReference(defaultLimits, 'http://mayfly.test', 'https://TOKEN.mayfly.test/');
  const headers = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': contentSecurityPolicy };
  await page.route('**/*', (route) => {
    requested.push(route.request().url());
    return route.fulfill({ headers, body });
  });
  await page.goto('http://mayfly.test/docs');
  return () => page.close();
});

/** How many samples of each language are visible. */
async function visibleSamples(): Promise<readonly [number, number]> {
  const visible = (name: string) => page.locator(`.samples > .${name}`).filter({ visible: true }).count();
  return [await visible('shell'), await visible('typescript')];
}

describe('the page at /docs', () => {
  it('shows curl first, and TypeScript everywhere after a click on any sample, which stays where it is', async () => {
    const all = await page.locator('.samples').count();
    expect(await visibleSamples()).toEqual([all, 0]);
    const selector = '#killExecution .samples label[for=language-typescript]';
    await page.evaluate(`document.querySelector('${selector}').scrollIntoView({ block: 'center' })`);
    const label = page.locator(selector);
    const top = async () => (await label.boundingBox())?.y ?? 0;
    const before = await top();
    await label.click();
    expect(await visibleSamples()).toEqual([0, all]);
    await expect.poll(async () => Math.abs((await top()) - before)).toBeLessThan(20);
  });

  it('can be switched with the keyboard, with a visible focus', async () => {
    const all = await page.locator('.samples').count();
    const choice = page.getByRole('group', { name: 'Language of the samples' });
    await choice.getByRole('radio', { name: 'curl', exact: true }).focus();
    await page.keyboard.press('ArrowRight');
    expect(await visibleSamples()).toEqual([0, all]);
    const label = 'header label[for=language-typescript]';
    const outline = await page.evaluate(`getComputedStyle(document.querySelector('${label}')).outlineStyle`);
    expect(outline).toBe('solid');
  });

  it('copies samples line by line', async () => {
    await page.evaluate("getSelection().selectAllChildren(document.querySelector('#listSandboxes .shell'))");
    const copied = await page.evaluate('getSelection().toString()');
    expect(copied).toBe('curl http://mayfly.test/v1/sandboxes \\\n  -H "Authorization: Bearer $MAYFLY_API_KEY"');
  });

  it.each([1440, 1280, 768, 390, 320])(
    'fits a screen of %i pixels, light and dark, and loads nothing',
    async (width) => {
      await page.setViewportSize({ width, height: 800 });
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
        expect(overflow).toBeLessThanOrEqual(0);
      }
      expect([requested, problems]).toEqual([['http://mayfly.test/docs'], []]);
    },
  );
});
