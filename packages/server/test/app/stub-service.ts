import { tmpdir } from 'node:os';
import type { ErrorBody, Execution, Sandbox, SandboxList } from '@mayfly/contract';
import { checkAnswer } from '@mayfly/contract/testing';
import { pino } from 'pino';
import { readConfig } from '../../src/app/config.ts';
import { wire } from '../../src/app/wire.ts';
import { hashApiKey } from '../../src/core/accounts/api-key.ts';
import type { Deadlines } from '../../src/core/context.ts';
import type { Readiness } from '../../src/http/http-app.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { StubDriver } from '../core/stub-driver.ts';
import { StubConnector } from '../core/stub-guest.ts';

/** A clock that a test moves. */
export class StubClock {
  #nowMs = Date.UTC(2026, 0, 1);
  nowMs(): number {
    return this.#nowMs;
  }
  advanceMs(ms: number): void {
    this.#nowMs += ms;
  }
}

/** Every field that an answer may have; a test reads those that its answer has. */
type AnswerBody = Fields<Sandbox> &
  Fields<Execution> &
  Fields<SandboxList> &
  ErrorBody &
  Record<'object' | 'status', string>;
type Fields<Resource> = Omit<Resource, 'object' | 'status'>;

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: AnswerBody;
}

/** The whole service over stub machines and a passing database, called without a socket. */
export async function stubService(deadlines?: Partial<Deadlines>, settings: NodeJS.ProcessEnv = {}) {
  const store = await openSqliteStore(':memory:');
  const driver = new StubDriver();
  const connector = new StubConnector();
  const clock = new StubClock();
  const log = pino({ level: 'silent' });
  const wired = wire({
    config: readConfig({
      MAYFLY_DATA_DIR: tmpdir(),
      MAYFLY_MEMORY_RESERVE_MB: '0',
      MAYFLY_DISK_RESERVE_MB: '0',
      ...settings,
    }),
    store,
    driver,
    connector,
    clock,
    log,
    deadlines,
  });
  wired.readiness = 'ready';
  const key = 'mf_test_key';
  await store.accounts.createFirst({
    id: 'acct_test',
    email: 'a@localhost',
    openingCreditMicroUsd: 100_000_000,
    createdAtMs: clock.nowMs(),
    key: { id: 'key_test', hash: hashApiKey(key), prefix: 'mf_' },
  });

  /** One request with the account's key, unless the headers say otherwise. Throws if the answer is not as published. */
  async function call(
    method: string,
    url: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const raw = typeof body === 'string' || Buffer.isBuffer(body);
    const response = await wired.app.inject({
      method: method as 'GET',
      url,
      headers: { authorization: `Bearer ${key}`, ...headers },
      ...(body !== undefined && { payload: raw ? body : JSON.stringify(body) }),
    });
    const { statusCode: status, headers: answered } = response;
    const problems = checkAnswer({ method, path: url, status, headers: answered, body: response.body });
    if (problems.length > 0) throw new Error(problems.join('\n'));
    const parsed = response.body === '' ? ({} as AnswerBody) : response.json<AnswerBody>();
    return { status, headers: answered, body: parsed };
  }

  return {
    ...wired,
    driver,
    connector,
    clock,
    key,
    store,
    call,
    setReadiness: (readiness: Readiness) => {
      wired.readiness = readiness;
    },
    setPreviewRoot: (pem: string) => {
      wired.previewRoot = pem;
    },
    async [Symbol.asyncDispose]() {
      await wired.app.close();
      await wired.core.background.idle();
      await store.close();
    },
  };
}
