import type { Command } from 'commander';
import { Failure } from '../cli-io.ts';
import { runBootstrap } from './bootstrap.ts';

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

function runSetup(command: string, failure: string): void {
  const { status, error } = runBootstrap(command);
  if (error) throw new Failure(`${failure} ${error.message}.`);
  if (status !== 0) throw new Failure(`${failure} What is printed above says why.`);
}
