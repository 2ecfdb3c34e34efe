import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { Command } from 'commander';
import { CommandExit, Failure } from './cli-io.ts';

const checkout = join(import.meta.dirname, '../../..');

/** `mayfly install-service` and `mayfly uninstall-service`: run this checkout under systemd, or no longer. The work is done by its set-up. */
export function addInstallService(program: Command): void {
  program
    .command('install-service')
    .summary('run Mayfly under systemd, also after a reboot')
    .description(
      'Set up this host, then run Mayfly under systemd as two services with as few rights as possible. MAYFLY_… settings of the present environment are kept in /etc/mayfly/mayfly.env, unless that file exists. Requires root.',
    )
    .action(() => runSetup('install-service', 'Mayfly was not installed as a service.'));
  program
    .command('uninstall-service')
    .summary('stop Mayfly and remove it from systemd')
    .description(
      'Stop Mayfly and remove its systemd units. Sandboxes stay alive, and data and settings are kept. Requires root.',
    )
    .action(() => runSetup('uninstall-service', 'Mayfly was not removed from systemd.'));
}

/** `mayfly doctor`: what this host has and lacks. */
export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .summary('say what this host has and lacks to run Mayfly')
    .description('Say what this host has and lacks to run Mayfly, and what to do about it. Changes nothing.')
    .option('--json', 'print the result as JSON')
    .action(({ json }: { readonly json?: true }) => {
      const { status } = spawnSync(process.execPath, ['bootstrap.mjs', 'doctor', ...(json ? ['--json'] : [])], {
        cwd: checkout,
        stdio: 'inherit',
      });
      if (status !== 0) throw new CommandExit(status ?? 1);
    });
}

function runSetup(command: string, failure: string): void {
  const { status, error } = spawnSync(process.execPath, ['bootstrap.mjs', command], {
    cwd: checkout,
    stdio: 'inherit',
  });
  if (error) throw new Failure(`${failure} ${error.message}.`);
  if (status !== 0) throw new Failure(`${failure} What is printed above says why.`);
}
