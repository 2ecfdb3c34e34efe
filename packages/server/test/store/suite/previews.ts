import { expect, test } from 'vitest';
import { account, changed, insert, insertRunning, type OpenedStore } from '../fixtures.ts';

const preview = (port: number, token: string, createdAtMs = 5) => ({ sandboxId: 'sbx_a', port, token, createdAtMs });

export function describePreviews(opened: OpenedStore): void {
  test('a port is opened once and keeps its token', async () => {
    await insertRunning(opened(), 'sbx_a');
    expect(await opened().previews.open(preview(3000, 't1'))).toEqual(preview(3000, 't1'));
    expect(await opened().previews.open(preview(3000, 't2', 9))).toEqual(preview(3000, 't1'));
    expect(await opened().previews.list('sbx_a')).toEqual([preview(3000, 't1')]);
  });

  test('concurrent callers get the same token', async () => {
    await insertRunning(opened(), 'sbx_a');
    const opens = await Promise.all(['a', 'b', 'c', 'd'].map((token) => opened().previews.open(preview(80, token))));
    expect(new Set(opens.map((open) => open?.token)).size).toBe(1);
  });

  test('ports are listed oldest first and closed once', async () => {
    await insertRunning(opened(), 'sbx_a');
    const { previews } = opened();
    await previews.open(preview(9000, 'x', 1));
    await previews.open(preview(80, 'y', 2));
    expect((await previews.list('sbx_a')).map(({ port }) => port)).toEqual([9000, 80]);
    expect(await previews.close('sbx_a', 9000)).toBe(true);
    expect(await previews.close('sbx_a', 9000)).toBe(false);
    expect((await previews.list('sbx_a')).map(({ port }) => port)).toEqual([80]);
    expect(await previews.open(preview(9000, 'z', 3))).toEqual(preview(9000, 'z', 3));
  });

  test('ports open only while the sandbox is running', async () => {
    expect(await opened().previews.open(preview(80, 't'))).toBeUndefined();
    await insert(opened(), 'sbx_a');
    expect(await opened().previews.open(preview(80, 't'))).toBeUndefined();
    expect(await opened().previews.list('sbx_a')).toEqual([]);
  });

  test('ports close when the run ends, and not when it is extended', async () => {
    const running = await insertRunning(opened(), 'sbx_a');
    await opened().previews.open(preview(80, 't'));
    const extended = await changed(opened(), running, { status: 'running', expiresAtMs: 3e12 });
    expect(await opened().previews.list('sbx_a')).toHaveLength(1);
    await changed(opened(), extended, { status: 'deleting' });
    expect(await opened().previews.list('sbx_a')).toEqual([]);
    expect(await opened().previews.findByToken('t')).toBeUndefined();
  });

  test('a token of a suspended account is not found until the account is resumed', async () => {
    await insertRunning(opened(), 'sbx_a');
    await opened().previews.open(preview(80, 't'));
    await opened().accounts.setSuspended(account.id, true);
    expect(await opened().previews.findByToken('t')).toBeUndefined();
    await opened().accounts.setSuspended(account.id, false);
    expect(await opened().previews.findByToken('t')).toMatchObject({ port: 80 });
  });

  test('a token is found with its port and the status of the sandbox', async () => {
    const running = await insertRunning(opened(), 'sbx_a');
    await opened().previews.open(preview(80, 't'));
    expect(await opened().previews.findByToken('t')).toEqual({ ...preview(80, 't'), sandboxStatus: 'running' });
    expect(await opened().previews.findByToken('T')).toBeUndefined();
    await changed(opened(), running, { status: 'failed' });
    expect(await opened().previews.findByToken('t')).toEqual({ ...preview(80, 't'), sandboxStatus: 'failed' });
    expect(await opened().previews.list('sbx_a')).toEqual([]);
    expect(await opened().retention.removeSandboxes(Number.MAX_SAFE_INTEGER, 10)).toBe(1);
    expect(await opened().previews.findByToken('t')).toBeUndefined();
  });

  test('ports that are opened while the run ends do not outlive it', async () => {
    const running = await insertRunning(opened(), 'sbx_a');
    const opens = [81, 82, 83, 84, 85, 86].map((port) => opened().previews.open(preview(port, `t${port}`)));
    const ending = opened().sandboxes.change(running, { status: 'deleting' });
    const more = [91, 92, 93, 94, 95, 96].map((port) => opened().previews.open(preview(port, `t${port}`)));
    await Promise.all([...opens, ending, ...more]);
    expect(await opened().previews.list('sbx_a')).toEqual([]);
  });
}
