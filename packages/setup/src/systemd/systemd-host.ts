import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { adminSocketName } from '@mayfly/contract/admin';
import { type TrustedIds, trustedIds } from '@mayfly/server/app';
import { runProgram } from '@mayfly/server/system';
import { SetupError } from '../announce.ts';
import { hostUnitName, serviceUnitName, unitNames } from './units.ts';

/** The parts of the host that installing and removing units touches; replaced in tests. */
export interface SystemdHost {
  readonly unitDir: string;
  /** The operator's settings. */
  readonly environmentFile: string;
  /** Whether this process may change units. */
  readonly isRoot: boolean;
  /** Whether systemd runs this host. */
  readonly isRunning: boolean;
  /** Who may own what the units use. Nobody runs sudo at boot, so its user is not among them. */
  readonly trusted: TrustedIds;
  readonly systemctl: (...args: readonly string[]) => Promise<void>;
  /** Whether a unit is active, becomes so or waits for its restart. */
  readonly isActive: (unit: string) => Promise<boolean>;
  /** Waits until the service of a data folder answers; false if it does not in time. */
  readonly isReady: (dataDir: string) => Promise<boolean>;
}

/** A start of the host process waits until it has adopted all machines. */
const systemctlMs = 15 * 60_000;

/** Longer than the service waits for the host process. */
const readyMs = 150_000;
const pollMs = 500;

/** Whether a process listens on a unix socket. */
async function answers(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

export const systemdHost: SystemdHost = {
  unitDir: '/etc/systemd/system',
  environmentFile: '/etc/mayfly/mayfly.env',
  isRoot: process.getuid?.() === 0,
  isRunning: existsSync('/run/systemd/system'),
  trusted: trustedIds({}),
  systemctl: async (...args) => void (await runProgram('systemctl', args, { deadlineMs: systemctlMs })),
  isActive: async (unit) => {
    const args = ['show', '--property=ActiveState', '--value', unit];
    const state = await runProgram('systemctl', args, { deadlineMs: 60_000 });
    return !['inactive', 'failed'].includes(state.trim());
  },
  isReady: async (dataDir) => {
    for (let waitedMs = 0; waitedMs < readyMs; waitedMs += pollMs) {
      if (await answers(join(dataDir, 'service', adminSocketName))) return true;
      await delay(pollMs);
    }
    return false;
  },
};

/** Throws where there is no systemd to install units for. */
export function refuseWithoutSystemd({ isRunning }: Pick<SystemdHost, 'isRunning'> = systemdHost): void {
  if (isRunning) return;
  throw new SetupError(
    'This host is not run by systemd. Start Mayfly with npm start, or with the init system of this host.',
  );
}

/** Mayfly's units on this host, in the order in which they are stopped. */
export function installedUnits({ unitDir }: Pick<SystemdHost, 'unitDir'>): readonly string[] {
  return unitNames.filter((name) => existsSync(join(unitDir, name)));
}

/** Whether Mayfly runs under systemd. */
export async function isMayflyActive({ isRunning, isActive }: SystemdHost): Promise<boolean> {
  return isRunning && ((await isActive(hostUnitName)) || (await isActive(serviceUnitName)));
}

/** Stops, disables and deletes units. Sandboxes stay alive. */
export async function removeUnits(host: SystemdHost, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  if (host.isRunning) await host.systemctl('disable', '--now', ...names);
  for (const name of names) {
    await rm(join(host.unitDir, name), { force: true });
    // The changes of systemctl edit.
    await rm(join(host.unitDir, `${name}.d`), { recursive: true, force: true });
  }
  if (host.isRunning) await host.systemctl('daemon-reload');
}
