import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, chromium, type Page } from 'playwright-core';
import { findCommand } from '#setup/requirements/probe.ts';
import { type OwnNetwork, openOwnNetwork } from './own-network.ts';

const run = promisify(execFile);
const deadlineMs = 120_000;

/** A headless Chromium with its own home folder. */
export interface TestBrowser {
  /** Opens a URL in a new page with a profile of its own, which ends with it. */
  open(url: string): Promise<Page>;
  /** Closes the browser and removes its home folder. */
  close(): Promise<void>;
}

/** The path of Chromium; undefined if it is not installed. */
export function findChromium(): Promise<string | undefined> {
  return findCommand('chromium');
}

/** Starts Chromium. With a root certificate, it trusts that authority as if a user had installed it; without, the system's only. */
export async function launchBrowser(rootFile: string | undefined): Promise<TestBrowser> {
  const executablePath = await findChromium();
  if (executablePath === undefined) throw new Error('chromium is not installed');
  const isRoot = process.getuid?.() === 0;
  await using stack = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), 'mayfly-browser-'));
  stack.defer(() => rm(home, { recursive: true, force: true, maxRetries: 10 }));
  if (rootFile !== undefined) await trust(home, rootFile);
  // Without root there are no machines either, whose networks would disturb it.
  const network = isRoot ? stack.use(await openOwnNetwork()) : undefined;
  const browser = await chromium.launch({
    executablePath: network ? await writeLauncher(home, network, executablePath) : executablePath,
    timeout: deadlineMs,
    env: { PATH: process.env.PATH ?? '', HOME: home, TMPDIR: home },
    // By default, loopback is not asked of a proxy.
    args: [
      '--disable-gpu',
      ...(network ? [`--proxy-server=${network.proxyUrl}`, '--proxy-bypass-list=<-loopback>'] : []),
    ],
    chromiumSandbox: !isRoot,
  });
  stack.defer(() => browser.close());
  const held = stack.move();
  return { open: (url) => openPage(browser, url), close: () => held.disposeAsync() };
}

/** Writes a program that starts Chromium in a network of its own, and returns its path. */
async function writeLauncher(home: string, { enter }: OwnNetwork, executablePath: string): Promise<string> {
  const path = join(home, 'chromium');
  await writeFile(path, `#!/bin/sh\nexec ${enter.join(' ')} ${executablePath} "$@"\n`, { mode: 0o755 });
  return path;
}

/** Adds the certificate to the NSS database in which Chromium looks for authorities of the user. */
async function trust(home: string, rootFile: string): Promise<void> {
  const folder = join(home, '.pki', 'nssdb');
  await mkdir(folder, { recursive: true });
  await run('certutil', ['-d', `sql:${folder}`, '-N', '--empty-password']);
  await run('certutil', ['-d', `sql:${folder}`, '-A', '-n', 'mayfly', '-t', 'C,,', '-i', rootFile]);
}

async function openPage(browser: Browser, url: string): Promise<Page> {
  const context = await browser.newContext();
  context.setDefaultTimeout(deadlineMs);
  const page = await context.newPage();
  // The browser may be closed already.
  page.once('close', () => void context.close().catch(() => {}));
  await page.goto(url);
  return page;
}
