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
