import { tmpdir } from 'node:os';
import type { ErrorBody, Execution, Sandbox, SandboxList, Snapshot } from '@mayfly/contract';
import { checkResponse } from '@mayfly/contract/testing';
import type { FastifyBaseLogger } from 'fastify';
import { pino } from 'pino';
import { assembleCore } from '../../src/app/assemble-core.ts';
import { buildApi } from '../../src/app/build-api.ts';
import { readConfig } from '../../src/app/config.ts';
import { hashApiKey } from '../../src/core/accounts/api-keys.ts';
import type { BudgetSettings } from '../../src/core/budgets/budgets.ts';
import type { Deadlines } from '../../src/core/ports/machine-deadlines.ts';
import type { BodyPace } from '../../src/http/bodies/slow-body.ts';
import type { PageFiles } from '../../src/http/dashboard/page-files.ts';
import type { ApiTls, Readiness } from '../../src/http/http-app.ts';
import type { ReadingLimits } from '../../src/http/slow-readers.ts';
import type { ConnectionLimits } from '../../src/listening/source-limits.ts';
import { createPrometheusMetrics } from '../../src/metrics/prometheus.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { StubDriver } from '../core/stub-driver.ts';
import { StubConnector } from '../core/stub-guest.ts';

/** A clock that only moves when a test advances it. */
export class StubClock {
  #nowMs = Date.UTC(2026, 0, 1);
  nowMs(): number {
    return this.#nowMs;
  }
  advanceMs(ms: number): void {
    this.#nowMs += ms;
  }
}

/** Tests sign in often. */
const cheapHashes = { ln: 4, r: 8, p: 1 };

/** Every field that any response may have, so that tests can read theirs without a cast. */
type AnswerBody = Fields<Sandbox> &
  Fields<Execution> &
  Fields<SandboxList> &
  Fields<Snapshot> &
  ErrorBody &
  Record<'object' | 'status', string>;
type Fields<Resource> = Omit<Resource, 'object' | 'status'>;

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: AnswerBody;
}

/** The whole API over stub machines and an in-memory database, called without a socket. */
export async function stubService(
  deadlines?: Partial<Deadlines>,
  settings: NodeJS.ProcessEnv = {},
  options: {
    readonly log?: FastifyBaseLogger;
    readonly bodyPace?: BodyPace;
    readonly reading?: Partial<ReadingLimits>;
    readonly connections?: Partial<ConnectionLimits>;
    readonly tls?: ApiTls;
    readonly budgets?: Partial<BudgetSettings>;
    readonly pages?: PageFiles | undefined;
  } = {},
) {
  const { bodyPace, reading: readingLimits, connections: connectionLimits, budgets, tls, pages } = options;
  const store = await openSqliteStore(':memory:');
  const driver = new StubDriver();
  const connector = new StubConnector();
  const clock = new StubClock();
  const logged: Record<string, unknown>[] = [];
  const log =
    options.log ??
    pino(
      { level: settings.MAYFLY_LOG_LEVEL ?? 'silent', messageKey: 'event' },
      { write: (line: string) => void logged.push(JSON.parse(line) as Record<string, unknown>) },
    );
  const metrics = createPrometheusMetrics();
  const config = readConfig({
    MAYFLY_DATA_DIR: tmpdir(),
    MAYFLY_PUBLIC_URL: 'http://localhost',
    MAYFLY_MEMORY_RESERVE_MB: '0',
    MAYFLY_DISK_RESERVE_MB: '0',
    ...settings,
  });
  let readiness: Readiness = 'ready';
  const isAccepting = () => readiness === 'ready';
  const doubles = { config, store, driver, connector, clock, log, metrics };
  const parts = { ...doubles, deadlines, budgets, isAccepting, passwordCost: cheapHashes };
  const core = assembleCore(parts);
  const previews: { publicPort: number; root: string | undefined } = {
    publicPort: config.previewPort,
    root: undefined,
  };
  const limits = { bodyPace, readingLimits, connectionLimits };
  const app = buildApi({ config, core, metrics, previews, tls, pages, log, readiness: () => readiness, ...limits });
  const key = 'mf_test_key';
  await store.accounts.createFirst({
    id: 'acct_test',
    email: 'a@localhost',
    openingCreditMicroUsd: 100_000_000,
    createdAtMs: clock.nowMs(),
    key: { id: 'key_test', hash: hashApiKey(key), prefix: 'mf_' },
  });

  /** Sends a request with the account's key unless `headers` overrides it. Throws if the response does not match the OpenAPI document. */
  async function call(
    method: string,
    url: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const raw = typeof body === 'string' || Buffer.isBuffer(body);
    const response = await app.inject({
      method: method as 'GET',
      url,
      headers: { authorization: `Bearer ${key}`, ...headers },
      ...(body !== undefined && { payload: raw ? body : JSON.stringify(body) }),
    });
    const { statusCode: status, headers: answered } = response;
    const problems = checkResponse({ method, path: url, status, headers: answered, body: response.body });
    if (problems.length > 0) throw new Error(problems.join('\n'));
    const parsed = response.body === '' ? ({} as AnswerBody) : response.json<AnswerBody>();
    return { status, headers: answered, body: parsed };
  }

  return {
    core,
    app,
    driver,
    connector,
    clock,
    key,
    store,
    call,
    /** The log lines, oldest first; none unless the settings turn the log on. */
    logged,
    setReadiness: (next: Readiness) => {
      readiness = next;
    },
    setPreviewRoot: (pem: string) => {
      previews.root = pem;
    },
    async [Symbol.asyncDispose]() {
      await app.close();
      await core.background.idle();
      await core.keyUses.flush();
      await store.close();
    },
  };
}
