import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, chromium, type Page } from 'playwright-core';
import { findCommand } from '#setup/host/probe.ts';

const run = promisify(execFile);
const deadlineMs = 60_000;

/** A headless Chromium with a home of its own. */
export interface TestBrowser {
  /** A new page in a profile of its own. */
  open(url: string): Promise<Page>;
  /** Ends it and removes its home. */
  close(): Promise<void>;
}

/** The path of Debian's Chromium; undefined where there is none. */
export const findChromium = (): Promise<string | undefined> => findCommand('chromium');

/** Starts Chromium for somebody who has installed an authority's certificate as people do, or none; what it does not trust it does not open. */
export const launchBrowser = async (rootFile: string | undefined): Promise<TestBrowser> => {
  const executablePath = await findChromium();
  if (executablePath === undefined) throw new Error('chromium is not installed');
  const home = await mkdtemp(join(tmpdir(), 'mayfly-browser-'));
  try {
    if (rootFile !== undefined) await trust(home, rootFile);
    const browser = await chromium.launch({
      executablePath,
      timeout: deadlineMs,
      env: { PATH: process.env.PATH ?? '', HOME: home, TMPDIR: home },
      args: ['--disable-gpu'],
      chromiumSandbox: process.getuid?.() !== 0,
    });
    return {
      open: (url) => openPage(browser, url),
      close: async () => {
        await browser.close();
        await rm(home, { recursive: true, force: true, maxRetries: 10 });
      },
    };
  } catch (error) {
    await rm(home, { recursive: true, force: true, maxRetries: 10 });
    throw error;
  }
};

/** Puts the certificate where Chromium keeps those of its user. */
const trust = async (home: string, rootFile: string): Promise<void> => {
  const folder = join(home, '.pki', 'nssdb');
  await mkdir(folder, { recursive: true });
  await run('certutil', ['-d', `sql:${folder}`, '-N', '--empty-password']);
  await run('certutil', ['-d', `sql:${folder}`, '-A', '-n', 'mayfly', '-t', 'C,,', '-i', rootFile]);
};

const openPage = async (browser: Browser, url: string): Promise<Page> => {
  const page = await browser.newPage();
  page.setDefaultTimeout(deadlineMs);
  await page.goto(url);
  return page;
};
