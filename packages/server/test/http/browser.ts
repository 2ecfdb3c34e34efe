import type { DashboardErrorBody } from '@mayfly/contract/dashboard';
import { createLoginLink } from '../../src/core/sign-in/links.ts';
import type { stubService } from '../app/stub-service.ts';

export type StubService = Awaited<ReturnType<typeof stubService>>;

export interface Page {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  /** Of JSON. */
  readonly body: DashboardErrorBody & Readonly<Record<string, unknown>>;
}

/** What a browser sends with each request from a page of the dashboard. */
const ownPage = { origin: 'http://localhost', 'sec-fetch-site': 'same-origin', 'user-agent': 'Test browser' };

export const password = 'correct horse battery';

/** A browser at the dashboard of a stub service. It keeps the session's cookie as browsers do. */
export class TestBrowser {
  readonly #service: StubService;
  readonly #address: string;
  /** `name=value`. */
  cookie: string | undefined;

  constructor(service: StubService, address = '192.0.2.1') {
    this.#service = service;
    this.#address = address;
  }

  /** Sends a request from a page of the dashboard. A header that is undefined is not sent. */
  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string | undefined>> = {},
  ): Promise<Page> {
    const given = { host: 'localhost', cookie: this.cookie, ...ownPage, ...headers };
    const sent = Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const response = await this.#service.app.inject({
      method: method as 'GET',
      url: path,
      remoteAddress: this.#address,
      headers: Object.fromEntries(sent),
      ...(body !== undefined && { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const [cookie] = [response.headers['set-cookie'] ?? []].flat();
    if (cookie !== undefined) this.#keep(cookie);
    const isJson = String(response.headers['content-type']).startsWith('application/json');
    return {
      status: response.statusCode,
      headers: response.headers,
      text: response.body,
      body: isJson ? response.json<Page['body']>() : ({} as Page['body']),
    };
  }

  get(path: string): Promise<Page> {
    return this.send('GET', `/app/api${path}`);
  }

  post(path: string, body?: unknown): Promise<Page> {
    return this.send('POST', `/app/api${path}`, body);
  }

  put(path: string, body?: unknown): Promise<Page> {
    return this.send('PUT', `/app/api${path}`, body);
  }

  delete(path: string, body?: unknown): Promise<Page> {
    return this.send('DELETE', `/app/api${path}`, body);
  }

  signIn(email = 'a@localhost', typed = password, code?: string): Promise<Page> {
    return this.post('/session', { email, password: typed, code });
  }

  #keep(cookie: string): void {
    const [pair = ''] = cookie.split(';');
    this.cookie = pair.endsWith('=') ? undefined : pair;
  }
}

/** A browser that is signed in with a password. */
export async function signedIn(service: StubService, email = 'a@localhost', address?: string): Promise<TestBrowser> {
  await setFirstPassword(service, email);
  const browser = new TestBrowser(service, address);
  const { status, text } = await browser.signIn(email);
  if (status !== 201) throw new Error(`signing in failed: ${text}`);
  return browser;
}

/** Gives an account its password, if it has none. */
export async function setFirstPassword({ core }: StubService, email = 'a@localhost'): Promise<void> {
  const account = await core.store.accounts.findByEmail(email);
  if (account === undefined) throw new Error(`no account ${email}`);
  await core.store.signIns.setFirstPassword(account.id, await core.passwords.hash(password));
}

/** A new sign-in link's token. */
export async function linkFor({ core }: StubService, email = 'a@localhost'): Promise<string> {
  return (await createLoginLink(core, email)).token;
}

/** Another account with a key. */
export async function addAccount({ store, clock }: StubService, name: string): Promise<string> {
  const email = `${name}@localhost`;
  const key = { id: `key_${name}`, hash: `hash_${name}`, prefix: 'mf_' };
  const id = `acct_${name}`;
  await store.accounts.create({ id, email, openingCreditMicroUsd: 100_000_000, createdAtMs: clock.nowMs(), key });
  return email;
}
