import type { ServerResponse } from 'node:http';
import type { Execution, ExecutionSummary, Port, Stats } from '@mayfly/contract';
import { endedSandboxes, sandboxes } from '../sample-data.ts';
import { type Answer, type FakeArea, refusal } from './area.ts';
import { exampleMeasurements } from './example.ts';

const minuteMs = 60_000;
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();

/** The sandbox whose page is looked at. */
export const shownId = 'sbx_q2m7rk4t5x3vb6ynz7pahcdw';
export const emptyId = 'sbx_m4t7xk2q5w3vb6ynz7pahcdr';
export const failedId = 'sbx_x3vb6ynz7pahcdwq2m7rk4t5';

const gib = 1024 ** 3;

/** Measurements of the last minutes, with a gap and a rollback among them. */
function measurements(): readonly Stats[] {
  return Array.from({ length: 150 }, (_, index): Stats | undefined => {
    if (index > 62 && index < 78) return undefined;
    const busy = Math.max(0, Math.sin(index / 9)) * 70 + (index % 7) * 3 + 6;
    const isBefore = index < 110;
    return {
      object: 'stats',
      sandbox_id: shownId,
      measured_at: ago((149 - index) * 2_000),
      cpu: { count: 8, used_ms: index * 900, percent: busy * 8 },
      memory: { total_bytes: 15.6 * gib, used_bytes: (1.2 + index / 30 + Math.sin(index / 15)) * gib },
      disk: { total_bytes: 157 * gib, used_bytes: (18 + (isBefore ? index / 20 : 0)) * gib },
      network: {
        received_bytes: (isBefore ? index : index - 110) * 700_000 + Math.round(Math.sin(index / 5) * 1_200_000) + 2e6,
        sent_bytes: (isBefore ? index : index - 110) * 150_000,
      },
      processes: 214,
      uptime_ms: 14 * minuteMs,
    };
  }).filter((stats) => stats !== undefined);
}

function execution(id: string, sandbox_id: string, more: Partial<ExecutionSummary>): ExecutionSummary {
  return {
    object: 'execution',
    id,
    sandbox_id,
    status: 'completed',
    exit_code: 0,
    truncated: false,
    output_dropped: false,
    oom_killed: false,
    duration_ms: 42,
    started_at: ago(3 * minuteMs),
    finished_at: ago(3 * minuteMs - 42),
    ...more,
  };
}

const running = { status: 'running', exit_code: null, duration_ms: null, finished_at: null } as const;
const executions: readonly ExecutionSummary[] = [
  execution('exec_running', shownId, { ...running, started_at: ago(73_000) }),
  execution('exec_build', shownId, { exit_code: 2, duration_ms: 48_211, started_at: ago(2 * minuteMs) }),
  execution('exec_uname', shownId, { duration_ms: 12, started_at: ago(4 * minuteMs) }),
  execution('exec_slow', shownId, {
    status: 'timeout',
    exit_code: 124,
    duration_ms: 60_004,
    started_at: ago(6 * minuteMs),
  }),
  execution('exec_killed', shownId, { exit_code: 143, duration_ms: 8_020, started_at: ago(8 * minuteMs) }),
  execution('exec_memory', shownId, {
    exit_code: 137,
    oom_killed: true,
    duration_ms: 1_830,
    started_at: ago(11 * minuteMs),
  }),
  execution('exec_ended', 'sbx_tnb3ycdrfh6k3vz5p2wq7mx4', { duration_ms: 700, started_at: ago(290 * minuteMs) }),
];

/** The commands that the browser tab remembers. */
export const commands = [
  { id: 'exec_memory', command: 'node --max-old-space-size=32000 bench/index.js' },
  { id: 'exec_killed', command: 'sleep 600' },
  {
    id: 'exec_slow',
    command: 'curl -sS https://example.com/very/large/archive/with/a/long/path.tar.zst | tar --zstd -x',
  },
  { id: 'exec_uname', command: 'uname -a' },
  { id: 'exec_build', command: 'cd /workspace/app &&\n  npm ci &&\n  npm run build' },
  { id: 'exec_running', command: 'npm test -- --watch' },
];

const buildOutput: readonly (readonly [type: string, data: unknown])[] = [
  ['gap', { bytes: 1_258_291 }],
  ['stdout', { data: '\u001b[1m> app@2.4.0 build\u001b[0m\n> vite build\n\n' }],
  ['stderr', { data: 'npm warn deprecated inflight@1.0.6: This module is not supported.\n' }],
  [
    'stdout',
    { data: 'transforming (1)\rtransforming (412)\r\u001b[K\u001b[32m✓\u001b[39m 412 modules transformed.\n' },
  ],
  [
    'stdout',
    {
      data: Array.from(
        { length: 60 },
        (_, index) =>
          `\u001b[90mdist/assets/\u001b[39m\u001b[36mchunk-${index}.js\u001b[39m   \u001b[1m${(index * 37) % 290}.${index % 10} kB\u001b[0m\n`,
      ).join(''),
    },
  ],
  [
    'stderr',
    {
      data: '\u001b[31merror\u001b[39m src/main.ts:14:3 - TS2322: Type <b>string</b> is not assignable to type number.\n',
    },
  ],
  [
    'stdout',
    {
      data: 'build failed after 48.1 s with a last line that is so long that it does not fit into the pane, however wide the window may be, because it goes on and on\n',
    },
  ],
];

const ports: readonly Port[] = [
  port(3000, 'k7m2q5x3vz6tnb4ycdrfh6k3vz', 11 * minuteMs),
  port(8080, 'p2wq7mx4tnb3ycdrfh6k3vz5p2', 40_000),
];

function port(number: number, token: string, ageMs: number): Port {
  return {
    object: 'port',
    sandbox_id: shownId,
    port: number,
    url: `https://${token}.preview.example.com/`,
    created_at: ago(ageMs),
  };
}

const sandboxPattern = /^GET \/sandboxes\/([^/]+)(?:\/(executions|ports))?$/;

export const machineArea: FakeArea = {
  answer: ({ operation }) => answerAboutSandbox(operation) ?? answerAboutExecution(operation),
  respond: ({ operation }, response, { session, isExample }) => {
    if (!session) return false;
    if (operation === `GET /sandboxes/${shownId}/stats/stream`) {
      sendEvents(
        response,
        (isExample ? exampleMeasurements() : measurements()).map((stats, index) => ({
          id: `${index}`,
          type: 'stats',
          data: stats,
        })),
      );
      return true;
    }
    const id = /^GET \/executions\/(\w+)\/stream$/.exec(operation)?.[1];
    const summary = executions.find((one) => one.id === id);
    if (!summary) return false;
    const output = id === 'exec_build' ? buildOutput : [['stdout', { data: 'Linux mayfly 6.12.0 x86_64\n' }] as const];
    const events = [['start', { id }] as const, ...output].map(([type, data], index) => ({
      id: `${index}`,
      type,
      data,
    }));
    const exit = { id: 'exit', type: 'exit', data: { ...summary, stdout: '', stderr: '' } };
    sendEvents(response, summary.status === 'running' ? events : [...events, exit]);
    return true;
  },
};

function answerAboutSandbox(operation: string): Answer | undefined {
  if (operation === `POST /sandboxes/${shownId}/exec`) return { status: 202, body: withOutput('exec_running') };
  const [, id, part] = sandboxPattern.exec(operation) ?? [];
  const sandbox = [...sandboxes, ...endedSandboxes].find((one) => one.id === id);
  if (id === undefined) return undefined;
  if (!sandbox) return refusal(404, 'not_found', 'There is no such sandbox.');
  if (part === undefined) return { body: sandbox };
  const data =
    part === 'ports' ? (id === shownId ? ports : []) : executions.filter(({ sandbox_id }) => sandbox_id === id);
  return { body: { object: 'list', data, has_more: false, next_cursor: null } };
}

function answerAboutExecution(operation: string): Answer | undefined {
  const id = /^GET \/executions\/(\w+)$/.exec(operation)?.[1];
  return id === undefined ? undefined : { body: withOutput(id) };
}

function withOutput(id: string): Execution {
  return { ...execution(id, shownId, running), stdout: '', stderr: '' };
}

interface SentEvent {
  readonly id: string;
  readonly type: string;
  readonly data: unknown;
}

/** Sends events and leaves the stream open, as one of a running sandbox. */
function sendEvents(response: ServerResponse, events: readonly SentEvent[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(
    events.map(({ id, type, data }) => `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`).join(''),
  );
}
