import { setTimeout as wait } from 'node:timers/promises';
import type { MachineProcess } from './process.ts';
import { readLogTail } from './process.ts';
import { QmpClient } from './qmp/client.ts';
import { connectUnix } from './unix-socket.ts';

/** How long a new QEMU may take to open its monitor, in milliseconds. */
const openDeadlineMs = 20_000;

/** Connects to the monitor of a QEMU that was just started. When QEMU ends instead, the error says what it logged. */
export const connectMonitor = async (
  process: MachineProcess,
  socketPath: string,
  logPath: string,
): Promise<QmpClient> => {
  const giveUp = new AbortController();
  const ended = process.ended.then(() => 'ended' as const);
  const late = wait(openDeadlineMs, 'late' as const, { signal: giveUp.signal, ref: false }).catch(
    () => 'late' as const,
  );
  const connected = connectUnix(socketPath, giveUp.signal);
  connected.catch(() => {});
  const first = await Promise.race([connected, ended, late]);
  giveUp.abort();
  if (typeof first === 'string') void connected.then((socket) => socket.destroy()).catch(() => {});
  if (first === 'ended') throw new Error(`QEMU ended at once: ${(await readLogTail(logPath)) || 'it logged nothing'}`);
  if (first === 'late') throw new Error('QEMU did not open its monitor in time');
  const qmp = new QmpClient(first);
  try {
    await qmp.negotiate();
  } catch (error) {
    qmp.close();
    throw error;
  }
  return qmp;
};
