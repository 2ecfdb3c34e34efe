import { createHash, randomBytes } from 'node:crypto';
import { Mayfly, type Sandbox, SandboxEndedError } from '@mayfly/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { killMachine } from '../support/machine-processes.ts';
import { RestartableService } from '../support/restartable-service.ts';

let service: RestartableService;
let mayfly: Mayfly;
let sandbox: Sandbox;
beforeAll(async () => {
  service = await RestartableService.create({ MAYFLY_POOL: 'none' });
  mayfly = new Mayfly({ baseUrl: service.url, apiKey: service.key });
  sandbox = await mayfly.sandboxes.create({ name: 'sdk' });
});
afterAll(() => service.remove());

const unlimited = { timeoutMs: 500_000 };

describe('commands', () => {
  it('print while they run, and end with a result', async () => {
    const seen: string[] = [];
    const result = await sandbox.exec('for i in 1 2 3; do echo line $i; sleep 0.3; done; echo oops >&2; exit 4', {
      ...unlimited,
      onStdout: (text) => seen.push(text),
      onStderr: (text) => seen.push(`! ${text}`),
    });
    expect(result).toMatchObject({ exitCode: 4, stdout: 'line 1\nline 2\nline 3\n', stderr: 'oops\n' });
    expect(seen.join('')).toBe('line 1\nline 2\nline 3\n! oops\n');
    expect(seen.length).toBeGreaterThan(2);
  });

  it('an array is run without a shell, with its arguments byte for byte', async () => {
    const odd = ['', ' ', '$HOME', "it's", '"quoted"', 'grüße\n', '*', '`id`', '\\', '-n'];
    const result = await sandbox.exec(['printf', '%s\\0', ...odd], unlimited);
    expect(result.stdout).toBe(odd.map((one) => `${one}\0`).join(''));
    const bytes = await sandbox.spawn(['printf', '%s', new Uint8Array([0x61, 0xff, 0xfe])], { stdin: false });
    const printed: Uint8Array[] = [];
    for await (const output of bytes) printed.push(output.bytes);
    expect(Buffer.concat(printed)).toEqual(Buffer.from([0x61, 0xff, 0xfe]));
    expect((await sandbox.exec(['no-such-program'], unlimited)).exitCode).toBe(127);
  });

  it('an abort kills what was started', async () => {
    const abort = new AbortController();
    const running = sandbox.exec('echo started; exec sleep 4711', {
      ...unlimited,
      signal: abort.signal,
      onStdout: () => abort.abort(new Error('enough')),
    });
    await expect(running).rejects.toThrow('enough');
    await expect
      .poll(async () => (await sandbox.exec('pgrep -f "[s]leep 4711" | wc -l', unlimited)).stdout.trim())
      .toBe('0');
  });

  it('megabytes through stdin arrive as they were, and another process sees the same output', async () => {
    const data = randomBytes(3 * 1024 ** 2);
    const command = await sandbox.spawn('sha256sum');
    await command.write(data);
    await command.closeStdin();
    const hash = createHash('sha256').update(data).digest('hex');
    expect((await command.wait()).stdout).toBe(`${hash}  -\n`);
    const elsewhere = (
      await new Mayfly({ baseUrl: service.url, apiKey: service.key }).sandboxes.get(sandbox.id)
    ).command(command.id);
    const replayed: string[] = [];
    for await (const { text } of elsewhere) replayed.push(text);
    expect(replayed.join('')).toBe(`${hash}  -\n`);
  });

  it('go on through a kill of the service, and print every line once', async () => {
    const lines = 40;
    let seen = '';
    let kill: Promise<unknown> | undefined;
    const running = sandbox.exec(`for i in $(seq ${lines}); do echo line $i; sleep 0.2; done`, {
      ...unlimited,
      onStdout: (text) => {
        seen += text;
        if (seen.includes('line 5\n')) kill ??= service.killAndRecover('service');
      },
    });
    const result = await running;
    await kill;
    expect(result.exitCode).toBe(0);
    expect(seen).toBe(Array.from({ length: lines }, (_, index) => `line ${index + 1}\n`).join(''));
  });
});

describe('sandboxes', () => {
  it('are snapshotted, rolled back and forked', async () => {
    await sandbox.files.write('state', 'before');
    const snapshot = await sandbox.snapshot({ name: 'checkpoint' });
    await sandbox.files.write('state', 'after');
    const { sandboxes, errors } = await sandbox.fork({ count: 2, lifetimeMinutes: 5 });
    expect(errors).toEqual([]);
    for (const fork of sandboxes) expect(await fork.files.read('state')).toBe('after');
    await Promise.all(sandboxes.map((fork) => fork.delete()));
    await sandbox.rollback(snapshot);
    expect(await sandbox.files.read('state')).toBe('before');
    await using copy = await mayfly.sandboxes.create({ snapshotId: snapshot.id });
    expect(await copy.files.read('state')).toBe('before');
    await mayfly.snapshots.delete(snapshot.id);
  });

  it('tell what they use, extend their life and open ports', async () => {
    expect((await sandbox.stats()).memory.totalBytes).toBeGreaterThan(1024 ** 3);
    const before = sandbox.expiresAt?.getTime() ?? 0;
    expect((await sandbox.extend(5)).expiresAt?.getTime()).toBe(before + 5 * 60_000);
    const { url } = await sandbox.ports.open(8000);
    expect(new URL(url).protocol).toBe('https:');
    await sandbox.ports.close(8000);
  });

  it('that run out of their machine say why and when', async () => {
    const doomed = await mayfly.sandboxes.create();
    const running = doomed.exec('echo up; sleep 600', {
      ...unlimited,
      onStdout: () => killMachine(service.dataDir, doomed.id),
    });
    const error = await running.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(SandboxEndedError);
    expect(error).toMatchObject({ reason: 'machine_died', endedAt: expect.any(Date), sandboxId: doomed.id });
    await expect(doomed.files.list()).rejects.toThrow(/failed because its machine died at 20.*Create a new sandbox/);
  });

  it('end with the block that made them', async () => {
    let id: string;
    {
      await using temporary = await mayfly.sandboxes.create();
      id = temporary.id;
      await temporary.exec('true', unlimited).orThrow();
    }
    expect((await mayfly.sandboxes.list().all()).map((one) => one.id)).not.toContain(id);
  });
});
