import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createSandbox, output } from '../support/api-requests.ts';
import { findChromium, launchBrowser, type TestBrowser } from '../support/browser.ts';
import {
  putFile,
  pythonServer,
  startNodeServer,
  startServer,
  startVite,
  viteFolder,
} from '../support/previews/guest-server.ts';
import { openPreview } from '../support/previews/preview-fixture.ts';
import { visit } from '../support/previews/visit.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

const ports = { python: 8000, node: 3000, vite: 5173, later: 9000 } as const;
const hasChromium = (await findChromium()) !== undefined;
let service: TestService;
let id: string;
let browser: TestBrowser;
/** Starting Vite takes long, so the other servers are tested meanwhile. */
let vite: Promise<void>;
beforeAll(async () => {
  if (!hasChromium) return;
  service = await startTestService();
  ({ id } = await createSandbox(service));
  vite = startVite(service, id, ports.vite);
  vite.catch(() => {});
  browser = await launchBrowser(service.previewRootFile);
});
afterAll(async () => {
  await browser?.close();
  await vite?.catch(() => {});
  await service?.stop();
});
beforeEach((context) => {
  if (!hasChromium) context.skip('needs Chromium, for which this distribution has no package');
});

async function open(port: number): Promise<Page> {
  return browser.open((await openPreview(service, id, port)).url);
}
function textOf(page: Page, selector: string) {
  return async () => (await page.textContent(selector))?.trim();
}

describe('a browser that trusts the service’s authority', () => {
  it('shows a page served by python3 -m http.server', async () => {
    await output(service, id, 'mkdir www && echo "<h1>from Python</h1>" > www/index.html');
    await startServer(service, id, pythonServer('www', ports.python), ports.python);
    const page = await open(ports.python);
    expect(await page.textContent('h1')).toBe('from Python');
    await page.close();
  });

  it('exchanges WebSocket messages with a Node.js server and receives its events', async () => {
    await startNodeServer(service, id, ports.node);
    const preview = await openPreview(service, id, ports.node);
    const page = await browser.open(preview.url);
    await expect.poll(textOf(page, '#socket')).toBe('back: from the page');
    await page.evaluate("say('again')");
    await expect.poll(textOf(page, '#socket')).toBe('back: again');
    await visit(preview, '/say', { method: 'POST', body: 'from the server' });
    await expect.poll(textOf(page, '#event')).toBe('from the server');
    await page.close();
  });

  it('shows that nothing listens yet, and then the server’s page once it runs', async () => {
    const page = await open(ports.later);
    expect(await page.textContent('body')).toContain(`${ports.later}`);
    await startServer(service, id, pythonServer('www', ports.later), ports.later);
    await expect.poll(textOf(page, 'h1')).toBe('from Python');
    await page.close();
  });

  it('shows a page of a Vite dev server, and edits to it without a reload', async () => {
    await vite;
    const page = await open(ports.vite);
    await expect.poll(textOf(page, '#greeting')).toBe('before the edit');
    await page.evaluate("window.marker = 'the same page'");
    const edit = async () => {
      await putFile(service, id, `${viteFolder}/greeting.js`, "export const greeting = 'after the edit';\n");
      return await textOf(page, '#greeting')();
    };
    // Vite tells only pages that are connected, and this one may still be connecting, so the file is saved until the edit shows.
    await expect.poll(edit, { interval: 1_000 }).toBe('after the edit');
    const colour = () => page.evaluate("getComputedStyle(document.getElementById('greeting')).color");
    expect(await colour()).toBe('rgb(1, 2, 3)');
    await putFile(service, id, `${viteFolder}/style.css`, 'p { color: rgb(4, 5, 6); }\n');
    await expect.poll(colour).toBe('rgb(4, 5, 6)');
    expect(await page.evaluate('window.marker')).toBe('the same page');
    await page.close();
  });
});

it('a browser without the authority’s certificate does not open a preview', async () => {
  const preview = await openPreview(service, id, ports.python);
  const untrusting = await launchBrowser(undefined);
  await expect(untrusting.open(preview.url)).rejects.toThrow('ERR_CERT_AUTHORITY_INVALID');
  await untrusting.close();
});
