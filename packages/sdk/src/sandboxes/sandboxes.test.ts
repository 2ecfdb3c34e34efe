import { defaultLimits, defineOperations } from '@mayfly/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { resultOf, type StubApi, stubApi } from '../../test/stub-api.ts';
import {
  InvalidApiKeyError,
  InvalidRequestError,
  type Mayfly,
  NotFoundError,
  type Sandbox,
  SandboxEndedError,
  toApi,
} from '../index.ts';

let api: StubApi;
let mayfly: Mayfly;
/** Method and path of each request that this client made. */
const requested = new Set<string>();
beforeAll(async () => {
  api = await stubApi({ MAYFLY_LIMIT_CONCURRENT_SANDBOXES: '500' });
  mayfly = api.client({
    fetch: (input, init) => {
      requested.add(`${init?.method} ${new URL(input instanceof Request ? input.url : input).pathname}`);
      return fetch(input, init);
    },
  });
});
afterAll(() => api[Symbol.asyncDispose]());
beforeEach(() => {
  api.live.onStart = (command) => command.end(resultOf());
});

describe('sandboxes', () => {
  it('are created, found, listed and deleted', async () => {
    const created = await mayfly.sandboxes.create({ size: 'small', name: 'mine', lifetimeMinutes: 7 });
    expect(created.info).toMatchObject({
      name: 'mine',
      status: 'running',
      timeoutMinutes: 7,
      expiresAt: expect.any(Date),
    });
    const found = await mayfly.sandboxes.get(created.id);
    expect(found.info).toEqual(created.info);
    expect(JSON.stringify(toApi(found.toJSON()))).toContain('"timeout_minutes":7');
    expect((await mayfly.sandboxes.list().all()).map(({ id }) => id)).toEqual([created.id]);
    expect((await created.extend(5)).timeoutMinutes).toBe(12);
    expect(created.info.timeoutMinutes).toBe(12);
    await created.delete();
    await created.delete();
    await expect(mayfly.sandboxes.delete(created.id)).rejects.toThrow(NotFoundError);
    expect(await mayfly.sandboxes.list().all()).toEqual([]);
    expect((await mayfly.sandboxes.list({ includeDeleted: true }).all()).length).toBe(1);
  });

  it('are deleted at the end of a block', async () => {
    let kept: Sandbox;
    {
      await using sandbox = await mayfly.sandboxes.create();
      kept = sandbox;
      await sandbox.exec('true');
    }
    expect((await kept.refresh()).status).toBe('deleted');
  });

  it('200 at once, from one process: each is created, runs a command and is deleted, without an error', async () => {
    const work = Array.from({ length: 200 }, async (_, index) => {
      const sandbox = await mayfly.sandboxes.create({ name: `crowd ${index}` });
      const { exitCode } = await sandbox.exec(`echo ${index}`);
      return { sandbox, exitCode };
    });
    const made = await Promise.all(work);
    expect(new Set(made.map(({ sandbox }) => sandbox.id)).size).toBe(200);
    expect(made.every(({ exitCode }) => exitCode === 0)).toBe(true);
    const listed: string[] = [];
    for await (const { id } of mayfly.sandboxes.list()) listed.push(id);
    expect(new Set(listed)).toEqual(new Set(made.map(({ sandbox }) => sandbox.id)));
    await Promise.all(made.map(({ sandbox }) => sandbox.delete()));
  });
});

describe('errors', () => {
  it('have the type, the status, the request and a hint', async () => {
    const error = await mayfly.sandboxes.create({ size: 'huge' as 'large' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidRequestError);
    expect(error).toMatchObject({
      name: 'InvalidRequestError',
      type: 'invalid_request',
      status: 400,
      hint: 'Fix the request.',
      requestId: expect.stringMatching(/^req_/),
      message: expect.stringMatching(/^size must be one of small, medium, large\. \(invalid_request, request req_/),
    });
    await expect(api.client({ apiKey: 'mf_wrong' }).account()).rejects.toThrow(InvalidApiKeyError);
  });

  it.each([
    ['deleted', 'deleted', async (sandbox: Sandbox) => sandbox.delete()],
    [
      'expired',
      'expired',
      async () => {
        api.service.clock.advanceMs(16 * 60_000);
        await api.sweep();
      },
    ],
    [
      'whose machine died',
      'machine_died',
      async () => {
        api.service.driver.newest.die('qemu was killed by SIGKILL');
      },
    ],
  ])('of a sandbox that was %s say why', async (_, reason, end) => {
    const sandbox = await mayfly.sandboxes.create();
    await end(sandbox);
    await expect.poll(async () => (await sandbox.refresh()).status).toMatch(/deleted|failed/);
    for (const use of [
      () => sandbox.exec('true'),
      () => sandbox.files.read('x'),
      () => sandbox.extend(),
      () => sandbox.spawn('x'),
    ]) {
      const error = await use().then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(SandboxEndedError);
      expect(error).toMatchObject({
        reason,
        sandboxId: sandbox.id,
        hint: 'Create a new sandbox.',
        endedAt: expect.any(Date),
      });
    }
  });

  it('of a command whose sandbox ends while it runs say why', async () => {
    const sandbox = await mayfly.sandboxes.create();
    api.live.onStart = (command) => command.print('stdout', 'working\n');
    const running = sandbox.exec('make', { onStdout: () => void sandbox.delete() });
    await expect(running).rejects.toThrow(/^Sandbox sbx_\w+ was deleted at 2026-/);
  });

  it('of a file that does not exist are about the file', async () => {
    await using sandbox = await mayfly.sandboxes.create();
    const error = await sandbox.files.read('none').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).not.toBeInstanceOf(SandboxEndedError);
  });
});

describe('everything else', () => {
  it('files are written, read, listed and removed', async () => {
    await using sandbox = await mayfly.sandboxes.create();
    const bytes = new Uint8Array([0, 255, 10]);
    expect(await sandbox.files.write('notes.txt', 'grüße\n')).toMatchObject({ path: '/workspace/notes.txt', bytes: 8 });
    await sandbox.files.write('data.bin', bytes);
    expect(await sandbox.files.read('notes.txt')).toBe('grüße\n');
    expect(await sandbox.files.readBytes('data.bin')).toEqual(bytes);
    api.service.connector.files.directories.set('/workspace/src', [
      { name: Buffer.from('a.ts'), type: 'file', sizeBytes: 3 },
    ]);
    expect(await sandbox.files.list('src')).toEqual([{ name: 'a.ts', type: 'file', sizeBytes: 3 }]);
    expect(await sandbox.files.list()).toEqual([]);
    await sandbox.files.remove('notes.txt');
    await expect(sandbox.files.read('notes.txt')).rejects.toThrow(NotFoundError);
  });

  it('ports are opened, listed and closed', async () => {
    await using sandbox = await mayfly.sandboxes.create();
    const { url } = await sandbox.ports.open(3000);
    expect(url).toMatch(/^https:/);
    expect((await sandbox.ports.open(3000)).url).toBe(url);
    expect((await sandbox.ports.list()).map(({ port }) => port)).toEqual([3000]);
    await sandbox.ports.close(3000);
    expect(await sandbox.ports.list()).toEqual([]);
  });

  it('snapshots are taken, copied, returned to and deleted', async () => {
    await using sandbox = await mayfly.sandboxes.create();
    const snapshot = await sandbox.snapshot({ name: 'ready', alias: 'base' });
    expect(await mayfly.snapshots.get(snapshot.id)).toMatchObject({ id: snapshot.id, alias: 'base' });
    expect((await mayfly.snapshots.list().all()).length).toBe(1);
    await using copy = await mayfly.sandboxes.create({ snapshotId: snapshot.id });
    await using named = await mayfly.sandboxes.create({ template: 'base' });
    expect([copy.info.snapshotId, named.info.snapshotId]).toEqual([snapshot.id, snapshot.id]);
    expect((await sandbox.rollback(snapshot)).id).toBe(sandbox.id);
    const forks = await sandbox.fork({ count: 2, lifetimeMinutes: 3 });
    expect(forks.sandboxes.map(({ info }) => info.timeoutMinutes)).toEqual([3, 3]);
    expect(forks.errors).toEqual([]);
    for (const fork of forks.sandboxes) await fork.delete();
    await mayfly.snapshots.delete(snapshot.id);
    expect(await mayfly.snapshots.list().all()).toEqual([]);
  });

  it('stats, account, usage and any other request', async () => {
    await using sandbox = await mayfly.sandboxes.create();
    expect((await sandbox.stats()).cpu.count).toBe(2);
    expect((await mayfly.account()).limits.concurrentSandboxes).toBe(500);
    expect((await mayfly.usage({ days: 3 })).periodDays).toBe(3);
    expect(await mayfly.request('GET', `/sandboxes/${sandbox.id}`)).toMatchObject({
      object: 'sandbox',
      id: sandbox.id,
    });
  });

  it('a sandbox is measured until it ends, the caller leaves, or the signal aborts', async () => {
    const sandbox = await mayfly.sandboxes.create();
    for await (const { sandboxId, measuredAt } of sandbox.watchStats()) {
      expect({ sandboxId, measuredAt }).toEqual({ sandboxId: sandbox.id, measuredAt: expect.any(Date) });
      break;
    }
    const abort = new AbortController();
    const aborted = async () => {
      for await (const _ of sandbox.watchStats({ signal: abort.signal })) abort.abort(new Error('enough'));
    };
    await expect(aborted()).rejects.toThrow('enough');
    let measured = 0;
    for await (const { cpu } of sandbox.watchStats({ intervalSeconds: 1 })) {
      expect(cpu.count).toBe(2);
      measured += 1;
      if (measured === 2) await sandbox.delete();
    }
    expect(measured).toBe(2);
    await expect(sandbox.watchStats().next()).rejects.toThrow(SandboxEndedError);
    await expect(sandbox.watchStats({ intervalSeconds: 61 }).next()).rejects.toThrow(InvalidRequestError);
  });

  it('terminals are opened', async () => {
    await using sandbox = await mayfly.sandboxes.create();
    expect((await sandbox.terminal()).session).toMatch(/^term_/);
  });

  it('every operation of the API is used by a method, except those that only raw requests need', () => {
    const patterns = Object.values(defineOperations(defaultLimits)).map(({ id, method, path }) => ({
      id,
      line: new RegExp(`^${method} /v1${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    }));
    const unused = patterns.filter(({ line }) => ![...requested].some((made) => line.test(made))).map(({ id }) => id);
    // A terminal is a WebSocket. Commands are read, written to and killed in their own tests.
    expect(unused).toEqual([
      'openTerminal',
      'getExecution',
      'streamExecution',
      'writeStdin',
      'killExecution',
      'listExecutions',
    ]);
  });
});
