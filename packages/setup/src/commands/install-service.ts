import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readConfig } from '@mayfly/server/app';
import { hostCapabilities, runProgram } from '@mayfly/server/machines';
import { SetupError } from '../announce.ts';
import { projectRoot } from '../environment.ts';
import { hostUnit, hostUnitName, serviceUnit, serviceUnitName, type UnitPlan } from '../systemd/units.ts';

/** The parts of the host that installing touches; replaced in tests. */
export interface SystemdHost {
  readonly unitDir: string;
  readonly environmentFile: string;
  /** Whether systemd runs this host. */
  readonly isRunning: boolean;
  readonly systemctl: (...args: readonly string[]) => Promise<void>;
  readonly print: (text: string) => void;
}

const systemdHost: SystemdHost = {
  unitDir: '/etc/systemd/system',
  environmentFile: '/etc/mayfly/mayfly.env',
  isRunning: existsSync('/run/systemd/system'),
  systemctl: async (...args) => void (await runProgram('systemctl', args, { deadlineMs: 60_000 })),
  print: (text) => void process.stdout.write(text),
};

const template = `# Settings of Mayfly, one per line; docs/settings.md lists them. Restart after a change: systemctl restart mayfly-host mayfly
`;

/**
 * `mayfly install-service`: runs Mayfly under systemd from now on, also after a reboot. Settings that are set now are kept in the environment file, unless there
 * is one. Returns the exit code.
 */
export async function installService(host: SystemdHost = systemdHost, env = process.env): Promise<number> {
  if (!host.isRunning) {
    throw new SetupError(
      'This host is not run by systemd. Start Mayfly with npm start, or with the init system of this host.',
    );
  }
  const { dataDir, cacheDir } = readConfig(env);
  const plan: UnitPlan = {
    checkout: projectRoot,
    nodePath: process.execPath,
    dataDir,
    cacheDir,
    environmentFile: host.environmentFile,
    hostCapabilities: Object.keys(hostCapabilities).map((name) => name.toUpperCase()),
  };
  await keepSettings(host.environmentFile, env);
  await writeFile(join(host.unitDir, hostUnitName), hostUnit(plan));
  await writeFile(join(host.unitDir, serviceUnitName), serviceUnit(plan));
  await host.systemctl('daemon-reload');
  await host.systemctl('enable', '--now', hostUnitName, serviceUnitName);
  host.print(
    `Mayfly runs under systemd, also after a reboot.
  Settings  ${host.environmentFile}
  API key   ${join(dataDir, 'service', 'first-api-key')}, if this is the first start
  Logs      journalctl -u mayfly -u mayfly-host -f
  Stop      systemctl stop mayfly mayfly-host (sandboxes stay alive)
`,
  );
  return 0;
}

/** Writes the settings of this environment to a file that only root can read: it may hold the password of the database. */
async function keepSettings(path: string, env: NodeJS.ProcessEnv): Promise<void> {
  if (existsSync(path)) return;
  const lines = Object.entries(env)
    .filter(([name, value]) => name.startsWith('MAYFLY_') && value !== undefined)
    .map(([name, value]) => `${name}="${String(value).replaceAll(/["\\$`]/g, '\\$&')}"\n`);
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, template + lines.join(''), { mode: 0o600, flag: 'wx' });
}
