import { afterEach, beforeEach } from 'vitest';
import { stubService } from '../app/stub-service.ts';
import { type StubService, signedIn, type TestBrowser } from './browser.ts';
import { openTerminal, type TestTerminal } from './terminal-client.ts';

/** A service that listens, a browser that is signed in to it, and a sandbox whose terminals the browser opens. */
export interface TerminalPage {
  readonly service: StubService;
  readonly url: string;
  readonly browser: TestBrowser;
  readonly sandboxId: string;
  readonly terminalUrl: string;
  readonly open: () => Promise<TestTerminal>;
}

/** Makes a new page for every test of the file. The function returns the page of the running test. */
export function useTerminalPage(): () => TerminalPage {
  let page: TerminalPage | undefined;
  const opened: TestTerminal[] = [];
  const current = () => {
    if (page === undefined) throw new Error('The page exists only while a test runs.');
    return page;
  };
  beforeEach(async () => {
    const service = await stubService();
    const url = await service.app.listen({ port: 0, host: '127.0.0.1' });
    const browser = await signedIn(service);
    const { id: sandboxId } = (await browser.post('/sandboxes')).body as unknown as { id: string };
    const terminalUrl = `${url}/app/api/sandboxes/${sandboxId}/pty`;
    const open = async () => {
      const terminal = await openTerminal(terminalUrl, { cookie: browser.cookie ?? '', origin: url });
      opened.push(terminal);
      return terminal;
    };
    page = { service, url, browser, sandboxId, terminalUrl, open };
  });
  afterEach(async () => {
    if (page === undefined) return;
    const { service } = page;
    for (const terminal of opened.splice(0)) terminal.webSocket.terminate();
    service.core.streams.cutAll();
    service.app.server.closeAllConnections();
    await service.core.screens[Symbol.asyncDispose]();
    await service[Symbol.asyncDispose]();
    page = undefined;
  });
  return current;
}
