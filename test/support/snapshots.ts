import { expect } from 'vitest';
import { call, type SandboxBody, type Target } from './api-requests.ts';

export interface SnapshotBody {
  readonly id: string;
  readonly alias: string | null;
  readonly sandbox_id: string;
  readonly size: string;
  readonly status: string;
  readonly bytes: number;
  readonly created_at: string;
}

/** Takes a snapshot and expects 201: it is ready. */
export async function takeSnapshot(
  target: Target,
  sandboxId: string,
  body: Record<string, unknown> = {},
): Promise<SnapshotBody> {
  const response = await call(target, 'POST', `/sandboxes/${sandboxId}/snapshots`, body);
  if (response.status !== 201) expect.fail(`expected 201, got ${response.status}: ${await response.text()}`);
  const snapshot = (await response.json()) as SnapshotBody;
  expect(snapshot.status).toBe('ready');
  return snapshot;
}

/** All snapshots of the account, newest first. */
export async function listSnapshots(target: Target): Promise<readonly SnapshotBody[]> {
  const response = await call(target, 'GET', '/snapshots?limit=100');
  expect(response.status).toBe(200);
  return ((await response.json()) as { data: SnapshotBody[] }).data;
}

export async function deleteSnapshot(target: Target, id: string): Promise<void> {
  const response = await call(target, 'DELETE', `/snapshots/${id}`);
  expect(await response.json()).toEqual({ object: 'snapshot', id, deleted: true });
}

/** Rolls a sandbox back and expects 200. */
export async function rollBack(target: Target, sandboxId: string, snapshotId: string): Promise<SandboxBody> {
  const response = await call(target, 'POST', `/sandboxes/${sandboxId}/rollback`, { snapshot_id: snapshotId });
  if (response.status !== 200) expect.fail(`expected 200, got ${response.status}: ${await response.text()}`);
  return (await response.json()) as SandboxBody;
}
