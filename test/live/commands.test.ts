import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { useSharedSandbox } from '../service/shared-sandbox.ts';
import { call, type ExecutionBody, exec } from '../support/api-requests.ts';
import { length } from '../support/length.ts';
import { openEvents, Received, receive, receiveToTheEnd, startInBackground } from '../support/live-commands.ts';

const shared = useSharedSandbox();
/** Many times what it takes. */
const deadlineMs = 120_000;

const start = (command: string, options?: Record<string, unknown>) =>
  startInBackground(shared.service, shared.sandbox.id, command, options);
const stream = (id: string, lastEventId?: string, signal?: AbortSignal) =>
  openEvents(shared.service, `/executions/${id}/stream`, { lastEventId, ...(signal && { signal }) });
const post = (id: string, action: 'stdin' | 'kill', body: object) =>
  call(shared.service, 'POST', `/executions/${id}/${action}`, body);
const record = async (id: string) =>
  (await (await call(shared.service, 'GET', `/executions/${id}`)).json()) as ExecutionBody;
const hasText = (text: string) => (received: Received) => received.text().includes(text);

describe('a streamed command', () => {
  it('is seen line by line while it runs: each line comes before the command may print the next one', async () => {
    const lines = length(8, 60);
    const step = 'until [ -e step ]; do sleep 0.05; done; rm step';
    const body = {
      command: `rm -f step; for i in $(seq ${lines}); do echo line $i; ${step}; done`,
      timeout_ms: 600_000,
    };
    const response = await openEvents(shared.service, `/sandboxes/${shared.sandbox.id}/exec`, {
      body: { ...body, stream: true },
    });
    let seen = 0;
    const steps: Promise<unknown>[] = [];
    const received = await receive(response, undefined, (so) => {
      const now = so.text().split('\n').length - 1;
      if (now > seen) {
        seen = now;
        expect(so.exit).toBeUndefined();
        steps.push(exec(shared.service, shared.sandbox.id, 'touch step'));
      }
      return so.exit !== undefined;
    });
    await Promise.all(steps);
    expect(seen).toBe(lines);
    expect(received.exit).toMatchObject({ status: 'completed', exit_code: 0, stdout: received.text('stdout') });
    expect(await record(String(received.exit?.id))).toEqual(received.exit);
  });

  it('keeps stdout and stderr in order, and bytes that are not UTF-8 as they are', async () => {
    const { id } = await start(
      `echo one; sleep 1; echo two >&2; sleep 1; printf 'a\\xff\\xfeb'; printf 'gr\\xc3'; sleep 0.3; printf '\\xbc\\n'`,
    );
    const received = await receive(await stream(id));
    expect(received.text('stderr')).toBe('two\n');
    expect(received.events.map(({ event }) => event).join(' ')).toMatch(/^start stdout stderr( stdout)+ exit$/);
    expect(received.events.some(({ data }) => data.encoding === 'base64')).toBe(true);
    expect(received.text('stdout')).toBe(`one\na\ufffd\ufffdbgrü\n`);
  });

  it('that times out or fails to start says so', async () => {
    const timedOut = await start('echo before; sleep 600', { timeout_ms: 1_000 });
    expect((await receive(await stream(timedOut.id))).exit).toMatchObject({ status: 'timeout', exit_code: 124 });
    const refused = await call(shared.service, 'POST', `/sandboxes/${shared.sandbox.id}/exec`, {
      command: 'true',
      cwd: '/nowhere',
      stream: true,
    });
    expect(refused.status).toBe(400);
  });
});

describe('a background command', () => {
  it('goes on without readers, and another client continues it after the last event of the first', async () => {
    const { id } = await start('for i in $(seq 60); do echo line $i; sleep 0.01; done');
    const abort = new AbortController();
    const first = await receive(await stream(id, undefined, abort.signal), undefined, hasText('line 20\n'));
    abort.abort();
    expect(first.exit).toBeUndefined();
    const position = first.lastEventId;
    await pause(500);
    const all = await receiveToTheEnd(shared.service, id, first);
    expect(all.connections).toBe(2);
    expect(all.text()).toBe(Array.from({ length: 60 }, (_, n) => `line ${n + 1}\n`).join(''));
    expect(all.text()).toBe((await receive(await stream(id))).text());
    const late = await receive(await stream(id, position), new Received(Number(position)));
    expect(first.text().endsWith(late.text())).toBe(true);
    expect(late.exit).toMatchObject({ status: 'completed' });
    expect(
      (
        await fetch(`${shared.service.url}/v1/executions/${id}/stream`, {
          headers: { authorization: `Bearer ${shared.service.key}`, 'last-event-id': 'exit' },
        })
      ).status,
    ).toBe(204);
  });

  it('is a server that keeps running, has no timeout, and is listed until it is killed', async () => {
    const { id } = await start('exec python3 -u -m http.server 8199 --bind 127.0.0.1', { stdin: false });
    await receive(await stream(id), undefined, hasText('Serving HTTP'));
    const page = await exec(
      shared.service,
      shared.sandbox.id,
      'curl -s --retry 9 --retry-all-errors -o /dev/null -w "%{http_code}" http://127.0.0.1:8199/',
    );
    expect(page.stdout).toBe('200');
    const path = `/sandboxes/${shared.sandbox.id}/executions?status=running`;
    const running = (await (await call(shared.service, 'GET', path)).json()) as { data: { id: string }[] };
    expect(running.data.map((one) => one.id)).toEqual([id]);
    expect((await post(id, 'kill', {})).status).toBe(200);
    const ended = await receiveToTheEnd(shared.service, id);
    expect(ended.exit).toMatchObject({ status: 'completed', exit_code: 143 });
    expect((await post(id, 'kill', {})).status).toBe(409);
  });
});

describe('stdin', () => {
  it('feeds cat and is closed', async () => {
    const { id } = await start('cat; echo end');
    expect((await post(id, 'stdin', { data: 'grüße ' })).status).toBe(200);
    expect(
      (await post(id, 'stdin', { data: Buffer.from([0x66, 0x0a]).toString('base64'), encoding: 'base64' })).status,
    ).toBe(200);
    const seen = await receive(await stream(id), undefined, hasText('grüße f\n'));
    expect(seen.exit).toBeUndefined();
    expect((await post(id, 'stdin', { data: 'last\n', close: true })).status).toBe(200);
    expect((await receiveToTheEnd(shared.service, id)).text()).toBe('grüße f\nlast\nend\n');
    expect((await post(id, 'stdin', { data: 'x' })).status).toBe(409);
  });

  it('waits for a command that reads slowly, and accepts all or nothing', async () => {
    const { id } = await start('sleep 1; sha256sum; sleep 600');
    const piece = 'x'.repeat(700_000);
    for (let n = 0; n < 4; n += 1) {
      const write = async () => (await post(id, 'stdin', { data: piece, close: n === 3 })).status;
      // A slow guest may need several calls; what was refused must not arrive.
      await expect.poll(write, { timeout: deadlineMs }).toBe(200);
    }
    const hash = createHash('sha256').update(piece.repeat(4)).digest('hex');
    expect((await receive(await stream(id), undefined, hasText('-'))).text()).toContain(hash);
    await post(id, 'kill', { signal: 'KILL' });
    const stubborn = await start('sleep 600');
    const statuses: number[] = [];
    for (let n = 0; n < 3 && !statuses.includes(429); n += 1) {
      statuses.push((await post(stubborn.id, 'stdin', { data: piece })).status);
    }
    expect(statuses).toEqual([200, 429]);
    await post(stubborn.id, 'kill', { signal: 'KILL' });
  });
});

describe('signals', () => {
  it('end sleep by TERM and by KILL, and a command that ignores TERM by KILL only', async () => {
    for (const [signal, code] of [
      ['TERM', 143],
      ['KILL', 137],
    ] as const) {
      const { id } = await start('sleep 600');
      expect((await post(id, 'kill', { signal })).status).toBe(200);
      expect((await receiveToTheEnd(shared.service, id)).exit).toMatchObject({ exit_code: code });
    }
    const { id } = await start(`trap 'echo ignored' TERM; echo ready; while :; do sleep 0.1; done`);
    await receive(await stream(id), undefined, hasText('ready'));
    expect((await post(id, 'kill', {})).status).toBe(200);
    const seen = await receive(await stream(id), undefined, hasText('ignored'));
    expect(seen.exit).toBeUndefined();
    expect((await post(id, 'kill', { signal: 'SIGKILL' })).status).toBe(200);
    expect((await receiveToTheEnd(shared.service, id)).exit).toMatchObject({ status: 'completed', exit_code: 137 });
  });

  it('reach all processes of the command', async () => {
    const { id } = await start('sleep 7654 & sleep 7655 & wait');
    await expect
      .poll(async () => (await exec(shared.service, shared.sandbox.id, 'pgrep -fc "^sleep 765"')).stdout.trim(), {
        timeout: deadlineMs,
      })
      .toBe('2');
    await post(id, 'kill', { signal: 'TERM' });
    await receiveToTheEnd(shared.service, id);
    await expect
      .poll(async () => (await exec(shared.service, shared.sandbox.id, 'pgrep -fc "^sleep 765"')).stdout.trim(), {
        timeout: deadlineMs,
      })
      .toBe('0');
  });
});
