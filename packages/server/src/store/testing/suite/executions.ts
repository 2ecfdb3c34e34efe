import { expect, test } from 'vitest';
import { account, insert, type OpenedStore } from '../fixtures.ts';

const execution = { id: 'exec_a', accountId: account.id, sandboxId: 'sbx_a', startedAtMs: 3 };

export function describeExecutions(opened: OpenedStore): void {
  test('an execution ends once, with its output as bytes', async () => {
    await insert(opened(), 'sbx_a');
    const { executions } = opened();
    await executions.insert(execution);
    const running = await executions.find(account.id, 'exec_a');
    expect(running).toMatchObject({ ...execution, status: 'running', exitCode: null, finishedAtMs: null });
    expect(running?.stdout).toHaveLength(0);
    const end = { exitCode: 0, truncated: true, durationMs: 4, finishedAtMs: 7 } as const;
    const output = { stdout: Buffer.from([0, 255, 128]), stderr: Buffer.alloc(0) };
    await executions.finish('exec_a', { status: 'completed', ...end, ...output });
    await executions.finish('exec_a', { status: 'failed', ...end, ...output });
    const kept = await executions.find(account.id, 'exec_a');
    expect(kept).toMatchObject({ ...execution, ...end, status: 'completed' });
    expect(Buffer.from(kept?.stdout ?? [])).toEqual(output.stdout);
    expect(Buffer.from(kept?.stderr ?? [1])).toEqual(output.stderr);
    expect(await executions.find('acct_2', 'exec_a')).toBeUndefined();
  });

  test('a whole capture of output is kept byte by byte', async () => {
    await insert(opened(), 'sbx_a');
    await opened().executions.insert(execution);
    const stdout = Buffer.from(Array.from({ length: 1_048_576 }, (_, index) => (index * 7) % 256));
    const end = { exitCode: 0, truncated: false, durationMs: 4, finishedAtMs: 7, stderr: stdout } as const;
    await opened().executions.finish('exec_a', { status: 'completed', ...end, stdout });
    const kept = await opened().executions.find(account.id, 'exec_a');
    expect(Buffer.compare(kept?.stdout ?? Buffer.alloc(0), stdout)).toBe(0);
    expect(Buffer.compare(kept?.stderr ?? Buffer.alloc(0), stdout)).toBe(0);
  });

  test('executions that a crash left running end failed', async () => {
    await insert(opened(), 'sbx_a');
    await opened().executions.insert(execution);
    expect(await opened().executions.failRunning(9)).toBe(1);
    expect(await opened().executions.failRunning(9)).toBe(0);
    const kept = await opened().executions.find(account.id, 'exec_a');
    expect(kept).toMatchObject({ status: 'failed', exitCode: null, finishedAtMs: 9 });
  });
}
