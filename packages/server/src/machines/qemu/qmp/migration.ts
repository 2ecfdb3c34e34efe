import { z } from 'zod';
import type { QmpClient } from './client.ts';

/** Ends when QEMU says that a migration (in or out) has completed; fails when it failed or the deadline passes. */
const migrationEnd = (qmp: QmpClient, deadlineMs: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const finish = (error?: Error) => {
      clearTimeout(timer);
      stopListening();
      if (error) reject(error);
      else resolve();
    };
    const timer = setTimeout(() => finish(new Error('QEMU did not finish the migration in time')), deadlineMs);
    const stopListening = qmp.onEvent(({ event, data }) => {
      if (event !== 'MIGRATION') return;
      if (data.status === 'completed') finish();
      if (data.status === 'failed' || data.status === 'cancelled') finish(new Error(`migration ${data.status}`));
    });
    void qmp.closed.then(() => finish(new Error('QEMU ended during the migration')));
  });

const ignoreSharedMemory = (qmp: QmpClient): Promise<unknown> =>
  qmp.execute('migrate-set-capabilities', {
    capabilities: [
      { capability: 'x-ignore-shared', state: true },
      { capability: 'events', state: true },
    ],
  });

/** Loads the device state of a template into a QEMU that was started with `-incoming defer`. */
export const loadDeviceState = async (qmp: QmpClient, statePath: string, deadlineMs: number): Promise<void> => {
  await ignoreSharedMemory(qmp);
  const done = migrationEnd(qmp, deadlineMs);
  done.catch(() => {});
  await qmp.execute('migrate-incoming', { uri: `file:${statePath}` });
  await done;
};

/** Saves the device state of a stopped machine whose RAM lies in a shared file. */
export const saveDeviceState = async (qmp: QmpClient, statePath: string, deadlineMs: number): Promise<void> => {
  await ignoreSharedMemory(qmp);
  const done = migrationEnd(qmp, deadlineMs);
  done.catch(() => {});
  await qmp.execute('migrate', { uri: `file:${statePath}` });
  await done;
};

const migrationStatus = z.object({ status: z.string().optional() });
const runStatus = z.object({ status: z.string() });

/** Ends a save that an earlier service had under way, and lets a machine that it stopped for it go on. */
export const settleMigration = async (qmp: QmpClient): Promise<void> => {
  const { status } = migrationStatus.parse(await qmp.execute('query-migrate'));
  const isUnderWay = status !== undefined && !['none', 'completed', 'failed', 'cancelled'].includes(status);
  if (isUnderWay) await qmp.execute('migrate_cancel');
  const { status: state } = runStatus.parse(await qmp.execute('query-status'));
  if (state === 'postmigrate' || state === 'finish-migrate' || (isUnderWay && state === 'paused'))
    await qmp.execute('cont');
};
