import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Fault, FaultyProxy } from '../../test/faulty-proxy.ts';
import { resultOf, type StubApi, stubApi } from '../../test/stub-api.ts';
import {
  ApiError,
  CapacityUnavailableError,
  ConnectionError,
  InternalError,
  type Mayfly,
  MayflyError,
  RateLimitExceededError,
  RequestTimeoutError,
  SandboxEndedError,
  UnexpectedResponseError,
} from '../index.ts';

let api: StubApi;
let proxy: FaultyProxy;
let mayfly: Mayfly;
beforeAll(async () => {
  api = await stubApi();
  proxy = await FaultyProxy.open(api.url);
  mayfly = api.client({ baseUrl: proxy.url });
});
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await api[Symbol.asyncDispose]();
});
beforeEach(async () => {
  proxy.clear();
  for await (const sandbox of mayfly.sandboxes.list()) await sandbox.delete();
  proxy.received.length = 0;
  api.live.commands.clear();
  api.live.onStart = (command) => {
    command.print('stdout', 'done\n');
    command.end(resultOf({ stdout: Buffer.from('done\n'), writtenBytes: 5 }));
  };
});

const create = /^POST \/v1\/sandboxes$/;
const exec = /^POST .*\/exec$/;
const running = async () => (await mayfly.sandboxes.list().all()).length;
const respond = (status: number, type?: string, headers?: Record<string, string>): Fault => ({
  kind: 'respond',
  status,
  ...(type !== undefined && { type }),
  ...(headers && { headers }),
});

const cutAtOnce: Fault = { kind: 'cut', afterBytes: 1 };

/** Every way in which one request can fail and be worth another one. */
const passing: readonly (readonly [string, Fault])[] = [
  ['a connection that is cut before the request', { kind: 'drop before' }],
  ['a connection that is cut after the request was carried out', { kind: 'drop after' }],
  ['429', respond(429, 'rate_limit_exceeded', { 'retry-after': '0' })],
  ['500', respond(500, 'internal_error')],
  ['503', respond(503, 'capacity_unavailable')],
  ['502 of a proxy', respond(502)],
];

describe('a create', () => {
  it.each(passing)('survives %s and makes one sandbox', async (_, fault) => {
    proxy.plan(create, fault, fault);
    const sandbox = await mayfly.sandboxes.create({ name: 'once' });
    expect(proxy.count(create)).toBe(3);
    expect((await mayfly.sandboxes.list().all()).map(({ id }) => id)).toEqual([sandbox.id]);
  });

  it('that is slower than its timeout is repeated with the same key and makes one sandbox', async () => {
    proxy.plan(create, { kind: 'slow', ms: 8_000 });
    const sandbox = await mayfly.sandboxes.create({ requestTimeoutMs: 3_000 });
    expect(proxy.count(create)).toBeGreaterThanOrEqual(2);
    expect((await mayfly.sandboxes.list().all()).map(({ id }) => id)).toEqual([sandbox.id]);
  });

  it('that fails in the end leaves no sandbox', async () => {
    const drops = Array.from({ length: 5 }, (): Fault => ({ kind: 'drop after' }));
    proxy.plan(create, ...drops);
    await expect(mayfly.sandboxes.create()).rejects.toThrow(ConnectionError);
    await expect.poll(running).toBe(0);
  });

  it('that was carried out and then refused leaves no sandbox', async () => {
    proxy.plan(create, { kind: 'drop after' }, respond(429, 'rate_limit_exceeded', { 'retry-after': '3600' }));
    await expect(mayfly.sandboxes.create()).rejects.toThrow(RateLimitExceededError);
    await expect.poll(running).toBe(0);
  });

  it('that fails is asked for once more with the shortest lifetime', async () => {
    const lifetimes: unknown[] = [];
    const client = api.client({
      maxRetries: 1,
      fetch: async (input, init) => {
        if (init?.method !== 'POST') return fetch(input, init);
        lifetimes.push((JSON.parse(init.body as string) as { timeout_minutes: unknown }).timeout_minutes);
        if (lifetimes.length < 3) throw new TypeError('lost');
        return fetch(input, init);
      },
    });
    await expect(client.sandboxes.create({ lifetimeMinutes: 30 })).rejects.toThrow(ConnectionError);
    expect(lifetimes).toEqual([30, 30, 1]);
    await expect.poll(running).toBe(0);
  });

  it('with the key of a sandbox that has ended says so', async () => {
    const first = await mayfly.sandboxes.create({ idempotencyKey: 'ended' });
    await first.delete();
    const error = await mayfly.sandboxes.create({ idempotencyKey: 'ended' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SandboxEndedError);
    expect(error).toMatchObject({ sandboxId: first.id, reason: 'deleted', type: 'sandbox_not_running', status: 409 });
  });

  it('that is aborted leaves no sandbox', async () => {
    const abort = new AbortController();
    const { promise: until, resolve: respondNow } = Promise.withResolvers<void>();
    proxy.plan(create, { kind: 'hold', until });
    const creating = mayfly.sandboxes.create({ signal: abort.signal });
    await expect.poll(() => proxy.count(create)).toBe(1);
    abort.abort(new Error('changed my mind'));
    respondNow();
    await expect(creating).rejects.toThrow('changed my mind');
    await expect.poll(running).toBe(0);
    expect(proxy.count(create)).toBe(1);
  });

  it('that was aborted before it began sends nothing', async () => {
    await expect(mayfly.sandboxes.create({ signal: AbortSignal.abort() })).rejects.toThrow();
    expect(proxy.count(create)).toBe(0);
  });

  it('that fails does not delete the sandbox of an earlier create with the same key', async () => {
    const first = await mayfly.sandboxes.create({ idempotencyKey: 'mine' });
    proxy.plan(create, ...Array.from({ length: 5 }, (): Fault => ({ kind: 'drop after' })));
    await expect(mayfly.sandboxes.create({ idempotencyKey: 'mine' })).rejects.toThrow(ConnectionError);
    expect((await mayfly.sandboxes.list().all()).map(({ id }) => id)).toEqual([first.id]);
  });

  it.each([
    [respond(503, 'capacity_unavailable'), CapacityUnavailableError],
    [respond(500, 'internal_error'), InternalError],
    [respond(502), UnexpectedResponseError],
    [{ kind: 'slow', ms: 1_000 } satisfies Fault, RequestTimeoutError],
  ])('throws the last error when it keeps failing: %j', async (fault, expected) => {
    proxy.plan(create, fault, fault);
    const requestTimeoutMs = fault.kind === 'slow' ? 300 : 60_000;
    const creating = mayfly.sandboxes.create({ maxRetries: 1, requestTimeoutMs });
    await expect(creating).rejects.toThrow(expected);
    await expect.poll(running).toBe(0);
  });

  it('is not repeated after errors that stay', async () => {
    proxy.plan(create, respond(429, 'quota_exceeded', { 'retry-after': '1' }));
    const error = await mayfly.sandboxes.create().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ type: 'quota_exceeded', status: 429, requestId: 'req_injected' });
    expect((error as ApiError).hint).toBe('Delete a sandbox or a snapshot, then retry.');
    expect(proxy.count(create)).toBe(1);
  });
});

describe('a command', () => {
  it.each(passing.filter(([name]) => !['429', '503'].includes(name)))(
    'is not sent again after %s',
    async (_, fault) => {
      const sandbox = await mayfly.sandboxes.create();
      proxy.plan(exec, fault);
      const failure = await sandbox.exec('make').then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(failure).toBeInstanceOf(Error);
      expect(proxy.count(exec)).toBe(1);
      expect(api.live.commands.size).toBeLessThanOrEqual(1);
    },
  );

  it('is sent again after a rate limit, before which nothing ran', async () => {
    const sandbox = await mayfly.sandboxes.create();
    proxy.plan(exec, respond(429, 'rate_limit_exceeded', { 'retry-after': '0' }));
    expect((await sandbox.exec('make')).exitCode).toBe(0);
    expect(api.live.commands.size).toBe(1);
  });

  it('is sent again after a lost connection if its caller says that it may be', async () => {
    const sandbox = await mayfly.sandboxes.create();
    proxy.plan(exec, { kind: 'drop before' });
    expect((await sandbox.exec('ls', { repeatable: true })).exitCode).toBe(0);
  });

  it('whose stream is cut before it started rejects as a lost connection that may have run it', async () => {
    const sandbox = await mayfly.sandboxes.create();
    proxy.plan(exec, { kind: 'cut', afterBytes: 3 });
    const error = await sandbox.exec('make').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ mayHaveHappened: true, message: expect.stringContaining('may or may not have run') });
    expect(api.live.commands.size).toBe(1);
  });

  it('whose stream is cut is continued where it was, and runs once', async () => {
    const sandbox = await mayfly.sandboxes.create();
    const lines = Array.from({ length: 400 }, (_, index) => `line ${index}\n`);
    api.live.onStart = (command) => {
      for (const line of lines) command.print('stdout', line);
      command.end(resultOf({ stdout: Buffer.from(lines.join('')) }));
    };
    proxy.plan(exec, { kind: 'cut', afterBytes: 4_000 });
    proxy.plan(
      /\/stream$/,
      { kind: 'cut', afterBytes: 5_000 },
      { kind: 'drop before' },
      { kind: 'cut', afterBytes: 3_000 },
    );
    let seen = '';
    const result = await sandbox.exec('make', { onStdout: (text) => (seen += text) });
    expect(result.exitCode).toBe(0);
    expect(seen).toBe(lines.join(''));
    expect(api.live.commands.size).toBe(1);
    expect(proxy.count(exec)).toBe(1);
  });

  it('whose stream is cut says so, and when it is back', async () => {
    const sandbox = await mayfly.sandboxes.create();
    const command = await sandbox.spawn('make');
    proxy.plan(/\/stream$/, cutAtOnce, { kind: 'drop before' });
    const connections: boolean[] = [];
    const result = await command.wait({ onConnection: (isConnected) => connections.push(isConnected) });
    expect(result.exitCode).toBe(0);
    expect(connections).toEqual([false, true]);
  });

  it('whose stream cannot be continued rejects as a lost connection, never as a result, and names the execution', async () => {
    const sandbox = await mayfly.sandboxes.create();
    api.live.onStart = (command) => command.print('stdout', 'first\n');
    proxy.plan(exec, { kind: 'cut', afterBytes: 90 });
    proxy.plan(/\/stream$/, ...Array.from({ length: 500 }, (): Fault => ({ kind: 'drop before' })));
    const impatient = await api.client({ baseUrl: proxy.url, reconnectMs: 500 }).sandboxes.get(sandbox.id);
    const error = await impatient.exec('make').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ executionId: [...api.live.commands.keys()][0] });
  });

  it.each(passing)('whose stream is cut is continued after any number of failures: %s', async (_, fault) => {
    const sandbox = await mayfly.sandboxes.create();
    api.live.onStart = (command) => {
      command.print('stdout', 'first\n');
      command.end(resultOf({ exitCode: 4 }));
    };
    proxy.plan(exec, { kind: 'cut', afterBytes: 90 });
    proxy.plan(/\/stream$/, ...Array.from({ length: 7 }, () => (fault.kind === 'drop after' ? cutAtOnce : fault)));
    expect((await sandbox.exec('make')).exitCode).toBe(4);
    expect(proxy.count(/\/stream$/)).toBe(8);
  });

  it('whose stream is refused until the end rejects as a lost connection', async () => {
    const sandbox = await api.client({ baseUrl: proxy.url, reconnectMs: 500 }).sandboxes.create();
    api.live.onStart = (command) => command.print('stdout', 'first\n');
    proxy.plan(exec, { kind: 'cut', afterBytes: 90 });
    proxy.plan(/\/stream$/, ...Array.from({ length: 500 }, () => respond(503, 'capacity_unavailable')));
    const error = await sandbox.exec('make').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ executionId: [...api.live.commands.keys()][0] });
  });

  it('whose stream is cut after each replay of its start is lost in the end', async () => {
    const start = 'id: 0\nevent: start\ndata: {"id":"exe_1"}\n\n';
    const client = api.client({ reconnectMs: 300, fetch: async () => new Response(start) });
    const error = await client
      .command('exe_1')
      .wait()
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ executionId: 'exe_1' });
  });

  it('whose stream is cut is not continued without retries', async () => {
    const sandbox = await api.client({ baseUrl: proxy.url, maxRetries: 0 }).sandboxes.create();
    api.live.onStart = (command) => command.print('stdout', 'first\n');
    proxy.plan(exec, { kind: 'cut', afterBytes: 90 });
    await expect(sandbox.exec('make')).rejects.toThrow(ConnectionError);
    expect(proxy.count(/\/stream$/)).toBe(0);
  });
});

describe('a stream of measurements', () => {
  const stats = /\/stats\/stream/;

  it('that is cut is reopened', async () => {
    const sandbox = await mayfly.sandboxes.create();
    proxy.plan(stats, cutAtOnce, { kind: 'drop before' }, respond(503, 'capacity_unavailable'));
    for await (const { cpu } of sandbox.watchStats()) {
      expect(cpu.count).toBe(2);
      break;
    }
    expect(proxy.count(stats)).toBe(4);
  });

  it('that cannot be reopened rejects as a lost connection', async () => {
    const sandbox = await api.client({ baseUrl: proxy.url, reconnectMs: 300 }).sandboxes.create();
    proxy.plan(stats, cutAtOnce, ...Array.from({ length: 500 }, (): Fault => ({ kind: 'drop before' })));
    await expect(sandbox.watchStats().next()).rejects.toThrow(ConnectionError);
  });

  it('that is cut ends without an error if the sandbox has ended meanwhile', async () => {
    const { id } = await mayfly.sandboxes.create();
    proxy.plan(stats, cutAtOnce);
    const deletingBeforeReopening: typeof fetch = async (input, init) => {
      const { pathname } = new URL(input instanceof Request ? input.url : input);
      if (stats.test(pathname) && proxy.count(stats) === 1) await mayfly.sandboxes.delete(id);
      return fetch(input, init);
    };
    const client = api.client({ baseUrl: proxy.url, fetch: deletingBeforeReopening });
    const watching = (await client.sandboxes.get(id)).watchStats().next();
    expect(await watching).toEqual({ done: true, value: undefined });
  });
});

describe('other requests', () => {
  it('after a connection that was reset, the next call works', async () => {
    const sandbox = await mayfly.sandboxes.create();
    proxy.plan(/./, { kind: 'drop before' });
    await expect(mayfly.account({ maxRetries: 0 })).rejects.toThrow(ConnectionError);
    expect((await sandbox.exec('true')).ok).toBe(true);
  });

  it('a delete that was carried out but not answered succeeds', async () => {
    const sandbox = await mayfly.sandboxes.create();
    proxy.plan(/^DELETE/, { kind: 'drop after' });
    await mayfly.sandboxes.delete(sandbox.id);
    expect(await running()).toBe(0);
  });

  it('an extension is not added twice', async () => {
    const sandbox = await mayfly.sandboxes.create({ lifetimeMinutes: 10 });
    proxy.plan(/extend$/, { kind: 'drop after' });
    await expect(sandbox.extend(5)).rejects.toThrow(ConnectionError);
    expect((await sandbox.refresh()).timeoutMinutes).toBe(15);
  });

  it('a deadline ends a call with all its retries', async () => {
    proxy.plan(/account$/, ...Array.from({ length: 50 }, () => respond(503, 'capacity_unavailable')));
    const call = mayfly.account({ deadlineMs: 300, maxRetries: 50 });
    // The last attempt may itself run into the deadline.
    await expect(call).rejects.toThrow(MayflyError);
    expect(proxy.count(/account$/)).toBeLessThan(50);
  });

  it('nobody listens: one clear message', async () => {
    const closed = await FaultyProxy.open(api.url);
    const nobody = api.client({ baseUrl: closed.url, maxRetries: 1 });
    await closed[Symbol.asyncDispose]();
    await expect(nobody.account()).rejects.toThrow(
      /^The connection to http:\/\/127\.0\.0\.1:\d+ failed: .*ECONNREFUSED.*Check that the service is running/,
    );
  });
});
