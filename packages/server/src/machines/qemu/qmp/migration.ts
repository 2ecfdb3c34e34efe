import { z } from 'zod';
import { withDeadline } from '../../../core/scheduling/deadline.ts';
import type { QmpClient } from './qmp-client.ts';

/** Loads the device state of a template into a QEMU that was started with `-incoming defer`. */
export function loadDeviceState(qmp: QmpClient, statePath: string, deadlineMs: number): Promise<void> {
  return migrate(qmp, 'migrate-incoming', statePath, deadlineMs);
}

/** Saves the device state of a stopped machine whose RAM is a shared file. */
export function saveDeviceState(qmp: QmpClient, statePath: string, deadlineMs: number): Promise<void> {
  return migrate(qmp, 'migrate', statePath, deadlineMs);
}

const migrationStatus = z.object({ status: z.string().optional() });
const runStatus = z.object({ status: z.string() });

/** Cancels a save that an earlier service started, and resumes the machine if it was stopped for that. */
export async function finishMigration(qmp: QmpClient): Promise<void> {
  const { status } = migrationStatus.parse(await qmp.execute('query-migrate'));
  const isActive = status !== undefined && !['none', 'completed', 'failed', 'cancelled'].includes(status);
  if (isActive) await qmp.execute('migrate_cancel');
  const { status: state } = runStatus.parse(await qmp.execute('query-status'));
  if (state === 'postmigrate' || state === 'finish-migrate' || (isActive && state === 'paused'))
    await qmp.execute('cont');
}

async function migrate(
  qmp: QmpClient,
  command: 'migrate' | 'migrate-incoming',
  statePath: string,
  deadlineMs: number,
): Promise<void> {
  const capabilities = ['x-ignore-shared', 'events'].map((capability) => ({ capability, state: true }));
  await qmp.execute('migrate-set-capabilities', { capabilities });
  const { promise: completed, resolve, reject } = Promise.withResolvers<void>();
  completed.catch(() => {});
  const stopListening = qmp.onEvent(({ event, data }) => {
    if (event !== 'MIGRATION') return;
    if (data.status === 'completed') resolve();
    if (data.status === 'failed' || data.status === 'cancelled') reject(new Error(`migration ${data.status}`));
  });
  void qmp.closed.then(() => reject(new Error('QEMU exited during the migration')));
  try {
    await qmp.execute(command, { uri: `file:${statePath}` });
    await withDeadline('the migration', deadlineMs, completed);
  } finally {
    stopListening();
  }
}
