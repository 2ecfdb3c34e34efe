import { readFileSync } from 'node:fs';
import type { Sandbox } from '@mayfly/contract';
import { afterAll, beforeAll, type TestContext } from 'vitest';
import { startTestService, type TestService } from '../test-service.ts';
import { type AccountSpec, addAccount } from './accounts.ts';
import { Api } from './api.ts';
import { type AccountKind, keyOptions, readExternalService } from './external-service.ts';

export interface TargetOptions {
  /** Whether the tests of the file share a sandbox. */
  readonly sandbox?: boolean;
  /** Settings of the local service; ignored for an external one. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** The service under test: an external one, or a local one on real machines that the test file starts. */
export interface ConformanceTarget {
  /** The main account. */
  readonly api: Api;
  /** The sandbox that the tests of the file share. */
  readonly sandbox: Sandbox;
  /** Another account or key. Skips the test if an external service was given without it. */
  account(context: TestContext, kind: Exclude<AccountKind, 'main'>): Promise<Api>;
  /** A new account of the local service. Skips the test for an external one. */
  newAccount(context: TestContext, spec?: AccountSpec): Promise<Api>;
  /** Another key for an account of the local service. Skips the test for an external one. */
  newKey(context: TestContext, api: Api): Promise<Api>;
  /** A new account if the service is local, so that the test has rate limits and sandboxes of its own; otherwise the main account. */
  isolatedAccount(): Promise<Api>;
  /** The root certificate of the previews as PEM; undefined for an external service. */
  readonly previewCa: string | undefined;
  /** The local service itself. Skips the test for an external one. */
  localService(context: TestContext): TestService;
}

interface OpenTarget {
  readonly local: TestService | undefined;
  readonly baseUrl: string;
  readonly api: Api;
  readonly sandbox: Sandbox | undefined;
}

/** Opens the target before the tests of a file and cleans up after them. */
export function useTarget({ sandbox: sharesSandbox = false, settings = {} }: TargetOptions = {}): ConformanceTarget {
  const external = readExternalService();
  const clients: Api[] = [];
  let opened: OpenTarget | undefined;
  let addresses = 1;
  const createClient = (baseUrl: string, key: string, localAddress?: string): Api => {
    const api = new Api(baseUrl, key, localAddress);
    clients.push(api);
    return api;
  };
  beforeAll(async () => {
    const local = external.baseUrl === undefined ? await startTestService(settings) : undefined;
    const baseUrl = external.baseUrl ?? `${local?.url}/v1`;
    const api = createClient(baseUrl, local?.key ?? external.keys.main ?? '');
    opened = { local, baseUrl, api, sandbox: undefined };
    await api.get('/account');
    if (sharesSandbox) opened = { ...opened, sandbox: await api.create({ name: 'conformance', timeout_minutes: 60 }) };
  });
  afterAll(async () => {
    // A local service destroys its machines when it stops.
    if (opened?.local === undefined) await Promise.all(clients.map((api) => api.release()));
    await opened?.local?.stop();
  });
  const current = (): OpenTarget => {
    if (opened === undefined) throw new Error('the target is only open during tests');
    return opened;
  };
  const localService = (context: TestContext): TestService => current().local ?? context.skip('needs its own service');
  const createAccount = async (local: TestService, spec: AccountSpec = {}): Promise<Api> => {
    addresses += 1;
    // All of 127.0.0.0/8 reaches the service, and every source address has a rate limit of its own.
    const address = `127.0.0.${addresses}`;
    return createClient(current().baseUrl, await addAccount(local.core, spec), address);
  };
  return {
    get api() {
      return current().api;
    },
    get sandbox() {
      const { sandbox } = current();
      if (sandbox === undefined) throw new Error('this file has no shared sandbox');
      return sandbox;
    },
    get previewCa() {
      const { local } = current();
      return local && readFileSync(local.previewRootFile, 'utf8');
    },
    account: async (context, kind) => {
      const { local, baseUrl, api } = current();
      if (local) return await createAccount(local, kind === 'sibling' ? { siblingOf: api.key } : { [kind]: true });
      return createClient(baseUrl, external.keys[kind] ?? context.skip(`needs ${keyOptions[kind]}`));
    },
    newAccount: async (context, spec) => await createAccount(localService(context), spec),
    newKey: async (context, api) => await createAccount(localService(context), { siblingOf: api.key }),
    isolatedAccount: async () => {
      const { local, api } = current();
      return local ? await createAccount(local) : api;
    },
    localService,
  };
}
