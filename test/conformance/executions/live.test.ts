import { once } from 'node:events';
import type { Execution, Ticket } from '@mayfly/contract';
import { readEvents } from '@mayfly/contract/testing';
import { describe, expect, it } from 'vitest';
import { expectError, expectStatus } from '../../support/conformance/api.ts';
import { useTarget } from '../../support/conformance/target.ts';

const target = useTarget({ sandbox: true });

const start = async (body: object) =>
  expectStatus(
    await target.api.post<Execution>(`/sandboxes/${target.sandbox.id}/exec`, { ...body, background: true }),
    202,
  );

/** The events of a stream that has ended. */
async function eventsOf(text: string) {
  const events: { id: string; event: string; data: Readonly<Record<string, unknown>> }[] = [];
  for await (const event of readEvents(new Response(text))) events.push(event);
  return events;
}

/** The output in events. */
const printedBy = (events: Awaited<ReturnType<typeof eventsOf>>) =>
  events.flatMap(({ data }) => (typeof data.data === 'string' ? [data.data] : [])).join('');

const stream = async (id: string, lastEventId?: string) => {
  const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
  const response = await target.api.get(`/executions/${id}/stream`, { headers });
  expect(response.status).toBe(200);
  return eventsOf(response.text);
};

describe('exec with "stream": true', () => {
  it('200: start, output, exit with the stored execution', async () => {
    const body = { command: 'echo out; sleep 1; echo err >&2; exit 3', stream: true };
    const response = await target.api.post(`/sandboxes/${target.sandbox.id}/exec`, body);
    expect(response.headers['content-type']).toMatch(/^text\/event-stream/);
    const events = await eventsOf(response.text);
    const id = String(events[0]?.data.id);
    expect(events.map(({ event, data }) => [event, data.data ?? data.id])).toEqual([
      ['start', id],
      ['stdout', 'out\n'],
      ['stderr', 'err\n'],
      ['exit', id],
    ]);
    const stored = expectStatus(await target.api.get<Execution>(`/executions/${id}`), 200);
    expect(stored).toMatchObject({ status: 'completed', exit_code: 3, stdout: 'out\n', stderr: 'err\n' });
    expect(events.at(-1)?.data).toEqual(stored);
    expect(new Set(events.map((event) => event.id)).size).toBe(4);
  });

  it('errors come as errors, not as events', async () => {
    const exec = (sandboxId: string, body: object) => target.api.post(`/sandboxes/${sandboxId}/exec`, body);
    expectError(await exec('sbx_unknown', { command: 'true', stream: true }), 404, 'not_found');
    expectError(await exec(target.sandbox.id, { command: '', stream: true }), 400, 'invalid_request');
    expectError(await exec(target.sandbox.id, { command: 'true', stream: 'yes' }), 400, 'invalid_request');
    const nowhere = { command: 'true', stream: true, cwd: '/nowhere' };
    expectError(await exec(target.sandbox.id, nowhere), 400, 'invalid_request');
  });
});

describe('exec with "background": true', () => {
  it('202 with the running execution; its stream starts from the beginning and continues after any event', async () => {
    const { id, ...execution } = await start({ command: 'echo one; sleep 1; echo two' });
    expect(execution).toMatchObject({ status: 'running', exit_code: null, finished_at: null, stdout: '' });
    const events = await stream(id);
    expect([events[0]?.event, events.at(-1)?.event, printedBy(events)]).toEqual(['start', 'exit', 'one\ntwo\n']);
    // How the output is divided depends on when it is read.
    for (const [at, event] of events.slice(0, -1).entries()) {
      const rest = await stream(id, event.id);
      expect([rest.at(-1)?.event, printedBy(rest)]).toEqual(['exit', printedBy(events.slice(at + 1))]);
    }
    const after = await target.api.get(`/executions/${id}/stream`, { headers: { 'last-event-id': 'exit' } });
    expect(after.status).toBe(204);
  });

  it('stdin is written and closed, and a signal ends a command', async () => {
    const cat = await start({ command: 'cat' });
    const write = (body: object) => target.api.post(`/executions/${cat.id}/stdin`, body);
    expectStatus(await write({ data: 'aGVsbG8K', encoding: 'base64' }), 200);
    expectStatus(await write({ data: 'end\n', close: true }), 200);
    const events = await stream(cat.id);
    expect(printedBy(events)).toBe('hello\nend\n');
    expectError(await write({ data: 'more' }), 409, 'execution_not_running');
    const sleep = await start({ command: 'sleep 600' });
    expectStatus(await target.api.post(`/executions/${sleep.id}/kill`, { signal: 'KILL' }), 200);
    expect((await stream(sleep.id)).at(-1)?.data).toMatchObject({ status: 'completed', exit_code: 137 });
    expectError(await target.api.post(`/executions/${sleep.id}/kill`), 409, 'execution_not_running');
    expectError(await target.api.post('/executions/exec_unknown/kill'), 404, 'not_found');
  });

  it('is in the list of executions, which can be filtered by status', async () => {
    const { id } = await start({ command: 'sleep 600' });
    const list = async (status: string) => {
      const path = `/sandboxes/${target.sandbox.id}/executions?status=${status}`;
      return expectStatus(await target.api.get<{ data: Execution[] }>(path), 200).data.map((one) => one.id);
    };
    expect(await list('running')).toEqual([id]);
    expect(await list('completed')).not.toContain(id);
    const path = `/sandboxes/${target.sandbox.id}/executions?status=over`;
    expectError(await target.api.get(path), 400, 'invalid_request');
    expectStatus(await target.api.post(`/executions/${id}/kill`), 200);
  });
});

it('GET /sandboxes/{id}/stats: CPU, memory, disk, network and processes', async () => {
  const { id } = target.sandbox;
  const stats = expectStatus(
    await target.api.get<Record<string, Record<string, number>>>(`/sandboxes/${id}/stats`),
    200,
  );
  expect(stats.cpu?.count).toBe(target.sandbox.resources.vcpu);
  expect(stats.memory?.used_bytes).toBeLessThan(stats.memory?.total_bytes ?? 0);
  expect(stats.disk?.used_bytes).toBeLessThan(stats.disk?.total_bytes ?? 0);
  expectError(await target.api.get('/sandboxes/sbx_unknown/stats'), 404, 'not_found');
});

it('POST /tickets: a ticket opens a stream without a key, once', async () => {
  const created = await target.api.post<Ticket>('/tickets');
  const { ticket, expires_at } = expectStatus(created, 201);
  expect(created.headers['cache-control']).toBe('no-store');
  const livesMs = Date.parse(expires_at) - Date.parse(created.headers.date ?? '');
  expect(livesMs).toBeGreaterThan(50_000);
  expect(livesMs).toBeLessThan(70_000);
  const path = `/sandboxes/${target.sandbox.id}/stats/stream?ticket=${ticket}`;
  const response = await fetch(`${target.api.baseUrl}${path}`);
  expect(response.status).toBe(200);
  for await (const { event, data } of readEvents(response)) {
    expect([event, data.sandbox_id]).toEqual(['stats', target.sandbox.id]);
    break;
  }
  expectError(await target.api.get(path, { authorization: null }), 401, 'invalid_api_key');
  const another = expectStatus(await target.api.post<Ticket>('/tickets'), 201);
  const account = await target.api.get(`/account?ticket=${another.ticket}`, { authorization: null });
  expectError(account, 401, 'unauthorized');
});

it('GET /sandboxes/{id}/pty: a shell over a WebSocket, opened with a ticket as a browser does', async () => {
  const path = `/sandboxes/${target.sandbox.id}/pty?cols=90&rows=20`;
  expectError(await target.api.get(path), 400, 'request_error');
  expectError(await target.api.get('/sandboxes/sbx_unknown/pty?cols=0'), 400, 'invalid_request');
  const { ticket } = expectStatus(await target.api.post<Ticket>('/tickets'), 201);
  const socket = new WebSocket(`${target.api.baseUrl.replace(/^http/, 'ws')}${path}&ticket=${ticket}`);
  socket.binaryType = 'arraybuffer';
  const told: unknown[] = [];
  let printed = '';
  socket.addEventListener('message', ({ data }) => {
    if (typeof data === 'string') told.push(JSON.parse(data));
    else printed += Buffer.from(data as ArrayBuffer).toString('latin1');
  });
  const closed = once(socket, 'close') as Promise<[CloseEvent]>;
  await once(socket, 'open');
  socket.send(Buffer.from('stty size; exit 4\r'));
  const [{ code }] = await closed;
  expect(code).toBe(1000);
  expect(told[0]).toEqual({ type: 'ready', session: expect.any(String), cols: 90, rows: 20 });
  expect(told.at(-1)).toEqual({ type: 'exit', exit_code: 4 });
  expect(printed).toContain('20 90');
});
