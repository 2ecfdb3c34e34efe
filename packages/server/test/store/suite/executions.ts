import { expect, test } from 'vitest';
import { account, insert, type OpenedStore } from '../fixtures.ts';

const execution = { id: 'exec_a', accountId: account.id, sandboxId: 'sbx_a', startedAtMs: 3, isLive: true };

const nothing = Buffer.alloc(0);
const ended = {
  exitCode: 0,
  truncated: false,
  oomKilled: false,
  durationMs: 4,
  stdout: nothing,
  stderr: nothing,
  writtenBytes: null,
};

export function describeExecutions(opened: OpenedStore): void {
  test('an execution ends once, with its output as bytes', async () => {
    await insert(opened(), 'sbx_a');
    const { executions } = opened();
    await executions.insert(execution);
    const running = await executions.find(account.id, 'exec_a');
    expect(running).toMatchObject({ ...execution, status: 'running', exitCode: null, finishedAtMs: null });
    expect(running?.stdout).toHaveLength(0);
    const written = { truncated: true, writtenBytes: 5_000_000_000 };
    const end = { exitCode: 0, oomKilled: true, durationMs: 4, finishedAtMs: 7, ...written } as const;
    const output = { stdout: Buffer.from([0, 255, 128]), stderr: Buffer.alloc(0) };
    await executions.finish('exec_a', { status: 'completed', ...end, ...output });
    await executions.finish('exec_a', { status: 'failed', ...end, ...output });
    const kept = await executions.find(account.id, 'exec_a');
    expect(kept).toMatchObject({ ...execution, ...end, status: 'completed' });
    expect(Buffer.from(kept?.stdout ?? [])).toEqual(output.stdout);
    expect(Buffer.from(kept?.stderr ?? [1])).toEqual(output.stderr);
    expect(await executions.find('acct_2', 'exec_a')).toBeUndefined();
  });

  test('output of the maximum size is stored byte for byte', async () => {
    await insert(opened(), 'sbx_a');
    await opened().executions.insert(execution);
    const stdout = Buffer.from(Array.from({ length: 1_048_576 }, (_, index) => (index * 7) % 256));
    const end = {
      exitCode: 0,
      truncated: false,
      oomKilled: false,
      durationMs: 4,
      finishedAtMs: 7,
      stderr: stdout,
      writtenBytes: 2 * stdout.length,
    } as const;
    await opened().executions.finish('exec_a', { status: 'completed', ...end, stdout });
    const kept = await opened().executions.find(account.id, 'exec_a');
    expect(Buffer.compare(kept?.stdout ?? Buffer.alloc(0), stdout)).toBe(0);
    expect(Buffer.compare(kept?.stderr ?? Buffer.alloc(0), stdout)).toBe(0);
  });

  test('executions that have not ended are found', async () => {
    await insert(opened(), 'sbx_a');
    const { executions } = opened();
    await executions.insert(execution);
    await executions.insert({ ...execution, id: 'exec_b' });
    await executions.finish('exec_b', { status: 'completed', ...ended, finishedAtMs: 7 });
    expect((await executions.running()).map(({ id }) => id)).toEqual(['exec_a']);
  });

  test('pages are newest first, and skip or repeat nothing when executions started at the same time', async () => {
    await insert(opened(), 'sbx_a');
    await insert(opened(), 'sbx_b');
    const { executions } = opened();
    const ids = Array.from({ length: 9 }, (_, index) => `exec_${index}`);
    for (const [at, id] of ids.entries())
      await executions.insert({ ...execution, id, startedAtMs: Math.floor(at / 3) });
    await executions.insert({ ...execution, id: 'exec_other', sandboxId: 'sbx_b' });
    const seen: string[] = [];
    for (let afterId: string | undefined; ; ) {
      const page = await executions.list('sbx_a', { limit: 2, afterId });
      seen.push(...page.map(({ id }) => id));
      afterId = page.at(-1)?.id;
      if (afterId === undefined) break;
    }
    expect(seen).toEqual(ids.toReversed());
    expect(await executions.list('sbx_a', { limit: 2, afterId: 'exec_other' })).toEqual([]);
  });

  test('the oldest output of an account is dropped until the rest fits; records stay, and retention gives room back', async () => {
    await insert(opened(), 'sbx_a');
    const { executions, retention } = opened();
    const finish = async (id: string, bytes: number, finishedAtMs: number) => {
      await executions.insert({ ...execution, id });
      const output = { ...ended, stdout: Buffer.alloc(bytes), stderr: Buffer.alloc(1) };
      return await executions.finish(id, { status: 'completed', ...output, finishedAtMs });
    };
    const stored = (totalBytes: number) => ({ accountId: account.id, totalBytes, ownLimitMb: null });
    expect(await finish('exec_1', 99, 1_000)).toEqual(stored(100));
    expect(await finish('exec_3', 99, 3_000)).toEqual(stored(200));
    expect(await finish('exec_2', 99, 2_000)).toEqual(stored(300));
    await executions.insert({ ...execution, id: 'exec_4' });
    expect(await executions.finish('exec_4', { status: 'completed', ...ended, finishedAtMs: 9 })).toBeUndefined();
    expect(await executions.dropOldestOutput(account.id, 300)).toBe(0);
    expect(await executions.dropOldestOutput(account.id, 150)).toBe(2);
    expect(await executions.dropOldestOutput(account.id, 150)).toBe(0);
    for (const [id, length] of [['exec_1', 0] as const, ['exec_2', 0] as const, ['exec_3', 99] as const]) {
      const found = await executions.find(account.id, id);
      expect([found?.stdout.length, found?.outputDropped]).toEqual([length, length === 0]);
    }
    expect(await retention.removeExecutions(5_000, 10)).toBe(4);
    expect(await finish('exec_5', 9, 6_000)).toEqual(stored(10));
  });
}
