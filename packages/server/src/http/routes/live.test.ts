import { setTimeout as wait } from 'node:timers/promises';
import { fixedLimits } from '@mayfly/contract';
import { type ReceivedEvent, readEvents } from '@mayfly/contract/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import { resultOf } from '../../../test/core/stub-guest.ts';
import { StubLiveCommand } from '../../../test/core/stub-live.ts';
import { GuestRefusal, GuestUnreachable } from '../../core/ports/guest-agent.ts';
import { recoverExecutions } from '../../core/recovery/recover-executions.ts';

let service: Awaited<ReturnType<typeof stubService>>;
let sandboxId: string;
let url: string;
beforeEach(async () => {
  service = await stubService();
  url = await service.app.listen({ port: 0, host: '127.0.0.1' });
  sandboxId = (await service.call('POST', '/v1/sandboxes')).body.id;
});
afterEach(async () => {
  for (const command of service.connector.live.commands.values()) command.end(resultOf());
  service.core.streams.cutAll();
  service.app.server.closeAllConnections();
  await service[Symbol.asyncDispose]();
});

/** Reads events until `isEnough`, or until the stream ends. */
async function take(
  response: Response,
  isEnough: (events: ReceivedEvent[]) => boolean = () => false,
): Promise<ReceivedEvent[]> {
  const events: ReceivedEvent[] = [];
  for await (const event of readEvents(response)) {
    events.push(event);
    if (isEnough(events)) break;
  }
  return events;
}

const headers = { authorization: 'Bearer mf_test_key' };
const exec = (body: object) => service.call('POST', `/v1/sandboxes/${sandboxId}/exec`, body);
const execStream = (body: object) =>
  fetch(`${url}/v1/sandboxes/${sandboxId}/exec`, { method: 'POST', headers, body: JSON.stringify(body) });
const follow = (id: string, lastEventId?: string) =>
  fetch(`${url}/v1/executions/${id}/stream`, {
    headers: { ...headers, ...(lastEventId !== undefined && { 'last-event-id': lastEventId }) },
  });
const commandOf = (id: string): StubLiveCommand => service.connector.live.get(id);

describe('a streamed command', () => {
  test('is seen while it runs, and its last event is the stored execution', async () => {
    service.connector.live.onStart = (command) => command.print('stdout', 'one\n');
    const response = await execStream({ command: 'make', stream: true });
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const seen: ReceivedEvent[] = [];
    const reading = take(response, (events) => {
      seen.splice(0, Infinity, ...events);
      return false;
    });
    await expect.poll(() => seen).toHaveLength(2);
    const id = String(seen[0]?.data.id);
    expect(commandOf(id).request).toMatchObject({ command: 'make', timeoutMs: 60_000, stdin: false });
    commandOf(id).print('stderr', 'two\n');
    commandOf(id).end(resultOf({ exitCode: 3, stdout: Buffer.from('one\n'), stderr: Buffer.from('two\n') }));
    const events = await reading;
    const stored = (await service.call('GET', `/v1/executions/${id}`)).body;
    expect(stored).toMatchObject({ status: 'completed', exit_code: 3, stdout: 'one\n', stderr: 'two\n' });
    expect(events).toEqual([
      { id: '0', event: 'start', data: { id } },
      { id: '4', event: 'stdout', data: { data: 'one\n' } },
      { id: '8', event: 'stderr', data: { data: 'two\n' } },
      { id: 'exit', event: 'exit', data: stored },
    ]);
    expect(service.connector.forgotten).toContain(id);
  });

  test('goes on when its reader has gone', async () => {
    const response = await execStream({ command: 'make', stream: true });
    const [start] = await take(response, (events) => events.length === 1);
    const id = String(start?.data.id);
    await expect.poll(() => service.core.streams.count).toBe(0);
    commandOf(id).end(resultOf({ stdout: Buffer.from('all') }));
    await service.core.background.idle();
    expect((await service.call('GET', `/v1/executions/${id}`)).body).toMatchObject({
      status: 'completed',
      stdout: 'all',
    });
  });

  test('that the agent refuses is answered with the error, not with a stream', async () => {
    service.connector.live.onStart = () => {
      throw new GuestRefusal('bad_cwd', 'cwd /nowhere: no such file or directory');
    };
    const { status, body } = await exec({ command: 'make', stream: true, cwd: '/nowhere' });
    expect([status, body.error.type]).toEqual([400, 'invalid_request']);
    expect(service.core.streams.count).toBe(0);
  });

  test('is refused by the agent of an old snapshot with a reason', async () => {
    service.connector.live.onStart = () => {
      throw new GuestRefusal('not_found', 'no such request');
    };
    const { status, body } = await exec({ command: 'make', background: true });
    expect([status, body.error.message]).toEqual([400, expect.stringContaining('earlier version')]);
  });

  test('whose start is lost with the connection is found again if it runs', async () => {
    service.connector.live.onStart = (command) => {
      command.print('stdout', 'early');
      throw new GuestUnreachable('the connection was lost');
    };
    const reading = execStream({ command: 'make', stream: true });
    await expect.poll(() => service.connector.live.commands.size).toBe(1);
    const [command] = service.connector.live.commands.values();
    command?.end(resultOf());
    const events = await take(await reading);
    expect(events.map(({ event }) => event)).toEqual(['start', 'stdout', 'exit']);
  });
});

describe('a background command', () => {
  test('returns at once, has no timeout, and can be streamed from the beginning by several readers', async () => {
    const { status, body, headers: answered } = await exec({ command: 'serve', background: true });
    expect([status, body.status, body.exit_code, body.finished_at]).toEqual([202, 'running', null, null]);
    expect(answered.location).toBe(`http://localhost/v1/executions/${body.id}`);
    expect(commandOf(body.id).request).toMatchObject({ timeoutMs: 0, stdin: true });
    commandOf(body.id).print('stdout', 'ready\n');
    const readers = [follow(body.id), follow(body.id)].map(async (response) => take(await response));
    await expect.poll(() => service.core.streams.count).toBe(2);
    commandOf(body.id).end(resultOf({ exitCode: 143 }));
    for (const events of await Promise.all(readers)) {
      expect(events.map(({ event, id }) => `${event} ${id}`)).toEqual(['start 0', 'stdout 6', 'exit exit']);
    }
  });

  test('is continued after the last event, and after exit there is nothing more', async () => {
    const { id } = (await exec({ command: 'serve', background: true })).body;
    commandOf(id).print('stdout', 'one\n');
    commandOf(id).print('stderr', 'two\n');
    commandOf(id).end(resultOf());
    await service.core.background.idle();
    const events = await take(await follow(id, '4'));
    expect(events.map(({ event, data }) => [event, data.data])).toEqual([
      ['stderr', 'two\n'],
      ['exit', undefined],
    ]);
    const after = await follow(id, 'exit');
    expect([after.status, await after.text()]).toEqual([204, '']);
    expect((await service.call('GET', `/v1/executions/${id}/stream`, undefined, { 'last-event-id': 'x' })).status).toBe(
      400,
    );
  });

  test('keeps its reader over a lost connection to the agent: every byte once', async () => {
    const { id } = (await exec({ command: 'serve', background: true })).body;
    commandOf(id).print('stdout', 'before ');
    const seen: ReceivedEvent[] = [];
    const reading = take(await follow(id), (events) => {
      seen.splice(0, Infinity, ...events);
      return false;
    });
    await expect.poll(() => seen.length).toBe(2);
    service.connector.disconnect();
    commandOf(id).print('stdout', 'after');
    await expect.poll(() => seen.length, { timeout: 20_000 }).toBe(3);
    commandOf(id).end(resultOf());
    expect((await reading).map(({ data }) => data.data).join('')).toBe('before after');
  });

  test('is failed, and its stream ends with that, when its sandbox is deleted', async () => {
    const { id } = (await exec({ command: 'serve', background: true })).body;
    const reading = take(await follow(id));
    await service.call('DELETE', `/v1/sandboxes/${sandboxId}`);
    expect((await reading).at(-1)).toMatchObject({ event: 'exit', data: { status: 'failed', exit_code: null } });
  });

  test('is collected by the next run of the service, however long it takes', async () => {
    const startedAtMs = service.clock.nowMs();
    await service.store.executions.insert({
      id: 'exec_old',
      accountId: 'acct_test',
      sandboxId,
      startedAtMs,
      isLive: true,
    });
    const request = { id: 'exec_old', command: 'serve', cwd: '/', env: {}, timeoutMs: 0, captureBytes: 1, stdin: true };
    const command = new StubLiveCommand({ ...request, spoolBytes: 1 });
    service.connector.live.commands.set('exec_old', command);
    expect(await recoverExecutions(service.core)).toBe(1);
    expect(await recoverExecutions(service.core), 'it is in flight').toBe(0);
    command.print('stdout', 'ready');
    const reading = take(await follow('exec_old'));
    command.end(resultOf({ exitCode: 7, stdout: Buffer.from('ready') }));
    expect((await reading).map(({ event, data }) => [event, data.data ?? data.exit_code ?? null])).toEqual([
      ['start', null],
      ['stdout', 'ready'],
      ['exit', 7],
    ]);
  });

  test('is failed after a rollback of its sandbox', async () => {
    const snapshot = (await service.call('POST', `/v1/sandboxes/${sandboxId}/snapshots`)).body;
    const { id } = (await exec({ command: 'serve', background: true })).body;
    const reading = take(await follow(id));
    service.connector.live.commands.delete(id);
    const rolledBack = await service.call('POST', `/v1/sandboxes/${sandboxId}/rollback`, { snapshot_id: snapshot.id });
    expect(rolledBack.status).toBe(200);
    expect((await reading).at(-1)).toMatchObject({ event: 'exit', data: { status: 'failed' } });
  });

  test('cannot be one of too many in a sandbox', async () => {
    const count = fixedLimits.backgroundCommandsPerSandbox;
    await Promise.all(Array.from({ length: count }, () => exec({ command: 'serve', background: true })));
    const { status, body } = await exec({ command: 'serve', background: true });
    expect([status, body.error.type]).toEqual([429, 'rate_limit_exceeded']);
    const [first] = service.connector.live.commands.values();
    first?.end(resultOf());
    await expect.poll(async () => (await exec({ command: 'serve', background: true })).status).toBe(202);
  });
});

test('the stream of a plain command brings its output when it ends', async () => {
  const { promise: ended, resolve: end } = Promise.withResolvers<ReturnType<typeof resultOf>>();
  service.connector.command = () => ended;
  const running = exec({ command: 'make' });
  let id = '';
  await expect
    .poll(async () => {
      const list = (await service.call('GET', `/v1/sandboxes/${sandboxId}/executions?status=running`)).body;
      id = (list.data as unknown as { id: string }[])[0]?.id ?? '';
      return id;
    })
    .not.toBe('');
  const reading = take(await follow(id));
  await wait(50);
  end(resultOf({ stdout: Buffer.from('out'), stderr: Buffer.from('err'), writtenBytes: 6 }));
  await running;
  expect((await reading).map(({ event, id: position }) => `${event} ${position}`)).toEqual([
    'start 0',
    'stdout 3',
    'stderr 6',
    'exit exit',
  ]);
  const failed = await service.call('GET', `/v1/sandboxes/${sandboxId}/executions?status=failed`);
  expect(failed.body.data).toEqual([]);
});

test('too many streams are refused, and closed ones make room', async () => {
  const { id } = (await exec({ command: 'serve', background: true })).body;
  const streams = await Promise.all(Array.from({ length: fixedLimits.streamsPerSandbox }, () => follow(id)));
  const refused = await follow(id);
  expect(refused.status).toBe(429);
  await streams[0]?.body?.cancel();
  await expect.poll(async () => (await follow(id)).status).toBe(200);
});

test('a stop of the service cuts streams at once, without an exit event', async () => {
  const { id } = (await exec({ command: 'serve', background: true })).body;
  const seen: string[] = [];
  const reading = take(await follow(id), (events) => {
    seen.push(events.at(-1)?.event ?? '');
    return false;
  });
  await expect.poll(() => seen).toEqual(['start']);
  service.core.streams.cutAll();
  await expect(reading).rejects.toThrow('terminated');
  expect(seen).toEqual(['start']);
});

describe('stdin and signals', () => {
  test('are passed to the command', async () => {
    const { id } = (await exec({ command: 'cat', background: true })).body;
    const write = (body: object) => service.call('POST', `/v1/executions/${id}/stdin`, body);
    expect((await write({ data: 'grüße\n' })).body).toEqual({
      object: 'stdin_write',
      execution_id: id,
      bytes: 8,
      closed: false,
    });
    expect((await write({ data: 'AP8=', encoding: 'base64', close: true })).body).toMatchObject({
      bytes: 2,
      closed: true,
    });
    expect(commandOf(id).stdin).toEqual(['grüße\n', '\u0000\ufffd']);
    const kill = (body?: object) => service.call('POST', `/v1/executions/${id}/kill`, body);
    expect((await kill()).body).toMatchObject({ object: 'execution', id, status: 'running' });
    await kill({ signal: 'SIGKILL' });
    await kill({ signal: 'INT' });
    expect(commandOf(id).signals).toEqual([15, 9, 2]);
  });

  test('have clear errors', async () => {
    const { id } = (await exec({ command: 'cat', background: true })).body;
    const post = async (action: string, body: object) => {
      const answer = await service.call('POST', `/v1/executions/${id}/${action}`, body);
      return [answer.status, answer.body.error.type];
    };
    expect(await post('stdin', { data: 1 })).toEqual([400, 'invalid_request']);
    expect(await post('stdin', { data: '!', encoding: 'base64' })).toEqual([400, 'invalid_request']);
    expect(await post('stdin', { data: '\ud800' })).toEqual([400, 'invalid_request']);
    expect(await post('kill', { signal: 'NONE' })).toEqual([400, 'invalid_request']);
    for (const [code, status, type] of [
      ['refused', 409, 'execution_not_running'],
      ['bad_request', 409, 'execution_not_running'],
      ['too_many', 429, 'rate_limit_exceeded'],
    ] as const) {
      commandOf(id).refusal = code;
      expect(await post('stdin', { data: 'x' })).toEqual([status, type]);
    }
    commandOf(id).end(resultOf());
    await service.core.background.idle();
    expect(await post('kill', {})).toEqual([409, 'execution_not_running']);
    expect((await service.call('POST', '/v1/executions/exec_none/kill')).status).toBe(404);
    expect((await exec({ command: 'cat', stdin: true })).status).toBe(400);
  });
});
