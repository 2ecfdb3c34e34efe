import { executionSchema } from '@mayfly/contract';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import { resultOf } from '../../../test/core/stub-guest.ts';
import { type ExecuteRequest, GuestRefusal, GuestUnreachable } from '../../core/ports/guest-agent.ts';
import { expireSandboxes } from '../../core/sandboxes/end.ts';

let service: Awaited<ReturnType<typeof stubService>>;
let sandboxId: string;
beforeEach(async () => {
  service = await stubService();
  sandboxId = (await service.call('POST', '/v1/sandboxes')).body.id;
});
afterEach(() => service[Symbol.asyncDispose]());

/** Runs the expiry sweep after that time. */
const expireSandboxesIn = async (ms: number) => {
  service.clock.advanceMs(ms);
  await expireSandboxes(service.core);
};
const exec = (body: unknown) => service.call('POST', `/v1/sandboxes/${sandboxId}/exec`, body);

test('a command runs in /workspace with a timeout of one minute, and its result is stored', async () => {
  const asked: ExecuteRequest[] = [];
  service.connector.command = async (request) => {
    asked.push(request);
    service.clock.advanceMs(250);
    return resultOf({ exitCode: 3, durationMs: 240, stdout: Buffer.from('grüße\n'), stderr: Buffer.from([0xff]) });
  };
  const { status, body } = await exec({ command: 'make', env: { CI: '1' } });
  expect(status).toBe(200);
  expect(executionSchema.parse(body)).toEqual({
    object: 'execution',
    id: expect.stringMatching(/^exec_[a-z2-7]{24}$/),
    sandbox_id: sandboxId,
    status: 'completed',
    exit_code: 3,
    stdout: 'grüße\n',
    stderr: '\ufffd',
    truncated: false,
    output_dropped: false,
    oom_killed: false,
    duration_ms: 240,
    started_at: '2026-01-01T00:00:00.000Z',
    finished_at: '2026-01-01T00:00:00.250Z',
  });
  expect(asked).toMatchObject([
    {
      id: body.id,
      command: 'make',
      cwd: '/workspace',
      env: { CI: '1' },
      timeoutMs: 60_000,
      captureBytes: 1_048_576,
    },
  ]);
  expect((await service.call('GET', `/v1/executions/${body.id}`)).body).toEqual(body);
  await service.core.background.idle();
  expect(service.connector.forgotten).toEqual([body.id]);
});

test('a command that timed out has exit code 124 and its output so far', async () => {
  service.connector.command = async () => resultOf({ timedOut: true, exitCode: 124, stdout: Buffer.from('half') });
  expect((await exec({ command: 'sleep 9' })).body).toMatchObject({
    status: 'timeout',
    exit_code: 124,
    stdout: 'half',
  });
});

test('output past the limit is cut between characters', async () => {
  const stdout = Buffer.from('🦋'.repeat(262_145)).subarray(2, 2 + 1_048_576);
  service.connector.command = async () => resultOf({ truncated: true, stdout });
  const { body } = await exec({ command: 'yes' });
  expect(body.truncated).toBe(true);
  expect(body.stdout.endsWith('🦋')).toBe(true);
});

test('the record of a running command says so', async () => {
  const { promise: ended, resolve: end } = Promise.withResolvers<ReturnType<typeof resultOf>>();
  let id = '';
  service.connector.command = async (request) => {
    id = request.id;
    return ended;
  };
  const answer = exec({ command: 'sleep 1' });
  await vi.waitFor(() => expect(id).not.toBe(''), { timeout: 30_000 });
  const { body } = await service.call('GET', `/v1/executions/${id}`);
  expect(body).toMatchObject({ status: 'running', exit_code: null, finished_at: null, stdout: '' });
  end(resultOf());
  expect((await answer).body.status).toBe('completed');
});

describe('a command that failed', () => {
  test.each(['bad_cwd', 'arguments_too_large', 'bad_request'])(
    '%s from the agent is an invalid_request',
    async (code) => {
      service.connector.command = () => Promise.reject(new GuestRefusal(code, 'no such directory: /nowhere'));
      const { status, body } = await exec({ command: 'ls', cwd: '/nowhere' });
      expect([status, body.error.type, body.error.message]).toEqual([
        400,
        'invalid_request',
        'no such directory: /nowhere',
      ]);
    },
  );

  test.each([
    new GuestRefusal('internal', 'fork failed'),
    new GuestRefusal('too_many', 'over 256 running'),
    new GuestUnreachable('the connection was lost'),
  ])('$message: 502 and a failed record', async (error) => {
    let id = '';
    service.connector.command = (request) => {
      id = request.id;
      return Promise.reject(error);
    };
    const { status, body } = await exec({ command: 'ls' });
    expect([status, body.error.type]).toEqual([502, 'execution_failed']);
    const record = (await service.call('GET', `/v1/executions/${id}`)).body;
    expect(record).toMatchObject({ status: 'failed', exit_code: null, duration_ms: null });
  });

  test.each([
    ['dies', async () => service.driver.newest.die('killed by SIGKILL')],
    ['is deleted', () => service.call('DELETE', `/v1/sandboxes/${sandboxId}`)],
    ['expires', () => expireSandboxesIn(15 * 60_000)],
  ])('because its sandbox %s: immediate 502 and a failed record', async (_, interrupt) => {
    const { promise: started, resolve: start } = Promise.withResolvers<string>();
    service.connector.command = ({ id }) => {
      start(id);
      return new Promise(() => {});
    };
    const answer = exec({ command: 'sleep 600' });
    const id = await started;
    await interrupt();
    const { status, body } = await answer;
    expect([status, body.error.type]).toEqual([502, 'execution_failed']);
    const record = (await service.call('GET', `/v1/executions/${id}`)).body;
    const finishedAt = new Date(service.clock.nowMs()).toISOString();
    expect(record).toMatchObject({ status: 'failed', exit_code: null, duration_ms: null, finished_at: finishedAt });
  });
});

describe('commands at once', () => {
  const limits = { budgets: { commands: { perAccount: 2, total: 10, waitingPerAccount: 3 } } };
  let running: (() => void)[];
  beforeEach(async () => {
    await service[Symbol.asyncDispose]();
    service = await stubService(undefined, {}, limits);
    sandboxId = (await service.call('POST', '/v1/sandboxes')).body.id;
    running = [];
    service.connector.command = () => new Promise((resolve) => running.push(() => resolve(resultOf())));
  });

  test('beyond the limit of an account wait in line; beyond the line 429 and nothing ran', async () => {
    const answers = ['1', '2', '3', '4', '5'].map((command) => exec({ command }));
    const { commands } = service.core.budgets;
    await vi.waitFor(() => expect([running.length, commands.waiting]).toEqual([2, 3]));
    const { status, headers, body } = await exec({ command: '6' });
    expect([status, body.error.type, Number(headers['retry-after'])]).toEqual([
      429,
      'rate_limit_exceeded',
      expect.any(Number),
    ]);
    for (let ended = 0; ended < 5; ended += 1) {
      await vi.waitFor(() => expect(running.length).toBeGreaterThan(0));
      expect(running.length).toBeLessThanOrEqual(2);
      running.shift()?.();
    }
    expect((await Promise.all(answers)).map((answer) => answer.status)).toEqual([200, 200, 200, 200, 200]);
    expect([commands.held, commands.waiting]).toEqual([0, 0]);
  });

  test('that wait while the credit is used up are answered 402, and nothing ran', async () => {
    const answers = ['1', '2', '3'].map((command) => exec({ command }));
    const { commands } = service.core.budgets;
    await vi.waitFor(() => expect([running.length, commands.waiting]).toEqual([2, 1]));
    await service.store.ledger.addCredit({
      id: 'crd_used_up',
      accountId: 'acct_test',
      amountMicroUsd: -1_000_000_000_000,
      createdAtMs: service.clock.nowMs(),
      note: '',
    });
    for (const end of running) end();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 402]);
    expect([running.length, commands.held, commands.waiting]).toEqual([2, 0, 0]);
  });

  test('that wait while their sandbox is deleted are answered 404', async () => {
    const answers = ['1', '2', '3'].map((command) => exec({ command }));
    const { commands } = service.core.budgets;
    await vi.waitFor(() => expect([running.length, commands.waiting]).toEqual([2, 1]));
    await service.call('DELETE', `/v1/sandboxes/${sandboxId}`);
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([502, 502, 404]);
    expect([commands.held, commands.waiting]).toEqual([0, 0]);
  });
});

test('commands after a lost connection share one reconnect', async () => {
  await exec({ command: 'one' });
  service.connector.disconnect();
  const answers = await Promise.all(['two', 'three', 'four'].map((command) => exec({ command })));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(service.connector.attaches).toHaveLength(2);
});

test('the working directory inside a message cannot forge the separator of rules', async () => {
  const refusal = new GuestRefusal('bad_cwd', '/a; command must be shorter: no such file or directory');
  service.connector.command = () => Promise.reject(refusal);
  const { status, body } = await exec({ command: 'ls', cwd: '/a; command must be shorter' });
  expect([status, body.error.type, body.error.message.split(';').length]).toEqual([400, 'invalid_request', 1]);
});

test('an unknown execution is not found', async () => {
  const answer = await service.call('GET', '/v1/executions/exec_x');
  expect([answer.status, answer.body.error.type]).toEqual([404, 'not_found']);
});

test('the request is validated before the sandbox is looked up', async () => {
  const answer = await service.call('POST', '/v1/sandboxes/sbx_x/exec', { command: '' });
  expect(answer.status).toBe(400);
});

test('beyond the quota of stored output the oldest output is dropped, its record says so, and no command is refused', async () => {
  await using small = await stubService(undefined, { MAYFLY_LIMIT_STORED_OUTPUT_MB: '1' });
  const { id: sandbox } = (await small.call('POST', '/v1/sandboxes')).body;
  small.connector.command = async () => resultOf({ stdout: Buffer.alloc(400 * 1024, 'x') });
  const ids: string[] = [];
  for (let number = 0; number < 4; number += 1) {
    small.clock.advanceMs(1_000);
    const { status, body } = await small.call('POST', `/v1/sandboxes/${sandbox}/exec`, { command: 'seq' });
    expect([status, body.stdout.length, body.output_dropped]).toEqual([200, 400 * 1024, false]);
    ids.push(body.id);
  }
  const stored = await Promise.all(ids.map(async (id) => (await small.call('GET', `/v1/executions/${id}`)).body));
  expect(stored.map(({ stdout, output_dropped, exit_code }) => [stdout.length, output_dropped, exit_code])).toEqual([
    [0, true, 0],
    [0, true, 0],
    [400 * 1024, false, 0],
    [400 * 1024, false, 0],
  ]);
});

test('an account has the quota of stored output that its operator set', async () => {
  await service.store.accounts.setLimits('acct_test', { storedOutputMb: 1 });
  service.connector.command = async () => resultOf({ stderr: Buffer.alloc(900 * 1024, 'x') });
  const first = (await exec({ command: 'a' })).body.id;
  service.clock.advanceMs(1_000);
  await exec({ command: 'b' });
  const { body } = await service.call('GET', `/v1/executions/${first}`);
  expect([body.stderr, body.output_dropped, body.truncated]).toEqual(['', true, true]);
});
