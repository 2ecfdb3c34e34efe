import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, type TestContext } from 'vitest';
import { startTestService, type TestService } from '../service.ts';
import { type AccountSpec, addAccount } from './accounts.ts';
import { Api } from './api.ts';
import type { SandboxBody } from './bodies.ts';
import { type AccountKind, accountOptions, readGiven } from './given.ts';

export interface SubjectOptions {
  /** Whether the tests of the file share a sandbox. */
  readonly sandbox?: boolean;
  /** Of the service that is started, where one is. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** The service under test: the given one, or one of the file's own on real machines. */
export interface Subject {
  /** The main account. */
  readonly api: Api;
  /** The sandbox that the tests of the file share. */
  readonly sandbox: SandboxBody;
  /** Another account or key; the test is skipped where none was given. */
  account(context: TestContext, kind: Exclude<AccountKind, 'main'>): Promise<Api>;
  /** A new account of the service's own; where the service is given, the test is skipped. */
  newAccount(context: TestContext, spec?: AccountSpec): Promise<Api>;
  /** One more key of an account of the service's own. */
  siblingOf(context: TestContext, api: Api): Promise<Api>;
  /** The main account, or a new one where that can be had, so that its windows and sandboxes are only this test's. */
  quietAccount(): Promise<Api>;
  /** The authority that signs for the service's previews, as PEM; undefined where the service is given. */
  readonly previewCa: string | undefined;
  /** The service itself; where it is given, the test is skipped. */
  service(context: TestContext): TestService;
}

interface Opened {
  readonly own: TestService | undefined;
  readonly baseUrl: string;
  readonly api: Api;
  readonly sandbox: SandboxBody | undefined;
}

/** Opens the subject before the tests of a file and leaves nothing behind after them. */
export const useSubject = ({ sandbox: wanted = false, settings = {} }: SubjectOptions = {}): Subject => {
  const given = readGiven();
  const apis: Api[] = [];
  let opened: Opened | undefined;
  let addresses = 1;
  const use = (baseUrl: string, key: string, localAddress?: string): Api => {
    const api = new Api(baseUrl, key, localAddress);
    apis.push(api);
    return api;
  };
  beforeAll(async () => {
    const own = given.baseUrl === undefined ? await startTestService(settings) : undefined;
    const baseUrl = given.baseUrl ?? `${own?.url}/v1`;
    const api = use(baseUrl, own?.key ?? given.keys.main ?? '');
    opened = { own, baseUrl, api, sandbox: undefined };
    await api.get('/account');
    if (wanted) opened = { ...opened, sandbox: await api.create({ name: 'conformance', timeout_minutes: 60 }) };
  });
  afterAll(async () => {
    const own = opened?.own;
    // The end of a service of its own ends its machines.
    if (own === undefined) await Promise.all(apis.map((api) => api.release()));
    await own?.stop();
  });
  const now = (): Opened => {
    if (opened === undefined) throw new Error('the subject is open only during tests');
    return opened;
  };
  const make = async (own: TestService, spec: AccountSpec = {}): Promise<Api> => {
    addresses += 1;
    // Every address of 127/8 reaches the service and is a source with a window of its own.
    const address = `127.0.0.${addresses}`;
    return use(now().baseUrl, await addAccount(own.core, spec), address);
  };
  return {
    get api() {
      return now().api;
    },
    get sandbox() {
      const { sandbox } = now();
      if (sandbox === undefined) throw new Error('this file shares no sandbox');
      return sandbox;
    },
    get previewCa() {
      const { own } = now();
      return own && readFileSync(own.previewRootFile, 'utf8');
    },
    account: async (context, kind) => {
      const { own, baseUrl, api } = now();
      if (own) return await make(own, kind === 'sibling' ? { siblingOf: api.key } : { [kind]: true });
      const key = given.keys[kind] ?? context.skip(`needs ${accountOptions[kind]}`);
      return use(baseUrl, key);
    },
    newAccount: async (context, spec) => await make(now().own ?? context.skip('needs a service of its own'), spec),
    siblingOf: async (context, api) =>
      await make(now().own ?? context.skip('needs a service of its own'), { siblingOf: api.key }),
    quietAccount: async () => {
      const { own, api } = now();
      return own ? await make(own) : api;
    },
    service: (context) => now().own ?? context.skip('needs a service of its own'),
  };
};
