import { type StubApi, stubApi } from '../../sdk/test/stub-api.ts';
import type { RunResult } from './mayfly.ts';
import { type RunOptions, runWith } from './run-with.ts';

/** A service over stub machines, and the command line of its account. */
export interface StubAccount extends AsyncDisposable {
  readonly api: StubApi;
  /** What makes commands use the service. */
  readonly env: NodeJS.ProcessEnv;
  /** Runs a command whose output is piped. */
  readonly run: (...args: string[]) => Promise<RunResult>;
  /** Runs a command on a terminal, with the answers to its questions. */
  readonly runOnTerminal: (args: readonly string[], options?: RunOptions) => Promise<RunResult>;
  /** Runs a command with --json, which must succeed, and returns what it printed. */
  readonly json: (...args: string[]) => Promise<StubJson>;
}

/** Every field that a test reads of a result. */
interface StubJson {
  readonly id: string;
  readonly data: readonly StubJson[];
  readonly [field: string]: unknown;
}

export async function stubAccount(...settings: Parameters<typeof stubApi>): Promise<StubAccount> {
  const api = await stubApi(...settings);
  const env = { MAYFLY_BASE_URL: api.url, MAYFLY_API_KEY: api.service.key };
  const nowMs = () => api.service.clock.nowMs();
  const run = (...args: string[]) => runWith(args, env, { nowMs });
  return {
    api,
    env,
    run,
    runOnTerminal: (args, options) => runWith(args, env, { nowMs, terminalColumns: 100, ...options }),
    json: async (...args) => {
      const { code, stdout, stderr } = await run(...args, '--json');
      if (code !== 0) throw new Error(`mayfly ${args.join(' ')} exited with ${code}: ${stderr}`);
      return JSON.parse(stdout) as StubJson;
    },
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  };
}
