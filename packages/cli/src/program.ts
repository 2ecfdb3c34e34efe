import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { addAccounts } from './admin/accounts.ts';
import { addAudit } from './admin/audit.ts';
import { addKeys } from './admin/keys.ts';
import { addSandboxes } from './admin/sandboxes.ts';
import { type CliIo, CommandExit, Failure } from './cli-io.ts';
import { addCp } from './cp/cp-command.ts';
import { addExec } from './exec/exec-command.ts';
import { addInstallService } from './install-service.ts';
import { addLogs } from './logs/logs-command.ts';
import { printable } from './output.ts';
import { addRun } from './run/run-command.ts';
import { addShell } from './shell/shell-command.ts';
import { addTemplates } from './templates/template-command.ts';

/** Runs one command line and returns its exit code: 0 for success, otherwise the code of the Failure; 2 for an invalid command line. */
export async function run(args: readonly string[], io: CliIo): Promise<number> {
  try {
    await buildProgram(io).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof CommandExit) return error.exitCode;
    if (!(error instanceof Failure)) throw error;
    io.stderr.write(`error: ${printable(error.message)}\n`);
    return error.exitCode;
  }
}

function buildProgram(io: CliIo): Command {
  const program = new Command('mayfly')
    .description('Disposable sandboxes on your own hardware.')
    .version(readVersion(), '--version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
      outputError: (text, write) => write(`${printable(text.trim().replaceAll('\n', ' '))}\n`),
    });
  addRun(program, io);
  addExec(program, io);
  addShell(program, io);
  addCp(program, io);
  addLogs(program, io);
  addAdmin(program, io);
  addTemplates(program, io);
  addInstallService(program);
  return program;
}

const adminExamples = `
Examples:
  mayfly admin accounts create --email ada@example.com --credit 25
  mayfly admin accounts list --json
  mayfly admin keys revoke --email ada@example.com --key key_3k5vq2
  mayfly admin accounts suspend --email ada@example.com --destroy
  mayfly admin audit --email ada@example.com
`;

/** `mayfly admin …`: administers the service that runs on this machine. */
function addAdmin(program: Command, io: CliIo): void {
  const admin = program
    .command('admin')
    .summary('manage accounts, API keys and sandboxes')
    .description(
      'Manage the accounts, API keys and sandboxes of the service on this machine. Requires root: the commands use a socket in the data folder.',
    )
    .helpCommand(false)
    .addHelpText('after', adminExamples);
  addAccounts(admin, io);
  addKeys(admin, io);
  addSandboxes(admin, io);
  addAudit(admin, io);
}

function readVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
