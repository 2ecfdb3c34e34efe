import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { Command } from 'commander';
import { Failure } from './cli-io.ts';

const checkout = join(import.meta.dirname, '../../..');

/** `mayfly install-service`: runs this checkout under systemd. The work is done by its set-up. */
export function addInstallService(program: Command): void {
  program
    .command('install-service')
    .summary('run Mayfly under systemd, also after a reboot')
    .description(
      'Set up this host, then run Mayfly under systemd as two services with as few rights as possible. MAYFLY_… settings of the present environment are kept in /etc/mayfly/mayfly.env. Requires root.',
    )
    .action(() => {
      const { status } = spawnSync('node', ['bootstrap.mjs', 'install-service'], { cwd: checkout, stdio: 'inherit' });
      if (status !== 0) throw new Failure('Mayfly was not installed as a service. What is printed above says why.');
    });
}
