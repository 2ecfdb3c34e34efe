import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { Command, CommanderError } from 'commander';
import { addAccount } from './account/account.ts';
import { addAccounts } from './admin/accounts.ts';
import { addAudit } from './admin/audit.ts';
import { addKeys } from './admin/keys.ts';
import { addSandboxes } from './admin/sandboxes.ts';
import { type CliIo, CommandExit, Failure, usageFailure } from './cli-io.ts';
import { addCompletion } from './completion/completion-command.ts';
import { addCp } from './cp/cp-command.ts';
import { addExec } from './exec/exec-command.ts';
import { addDoctor } from './host/doctor.ts';
import { addInstallService } from './host/install-service.ts';
import { addLogs } from './logs/logs-command.ts';
import { printable, showJson } from './output.ts';
import { ensureLocalProfile } from './profiles/local-profile.ts';
import { addLogin } from './profiles/login.ts';
import { addProfiles } from './profiles/profiles.ts';
import { addRun } from './run/run-command.ts';
import { addCreate } from './sandboxes/create.ts';
import { addExtend } from './sandboxes/extend.ts';
import { addList } from './sandboxes/list.ts';
import { addPorts } from './sandboxes/ports.ts';
import { addRemove } from './sandboxes/remove.ts';
import { addStats } from './sandboxes/stats.ts';
import { addApi } from './service/api-command.ts';
import { errorBody, failureOf } from './service/client.ts';
import { addShell } from './shell/shell-command.ts';
import { addCopies } from './snapshots/copies.ts';
import { addSnapshots } from './snapshots/snapshots.ts';
import { addTemplates } from './templates/template-command.ts';

const version = readVersion();

/** Runs one command line and returns its exit code: 0 for success, otherwise the code of the Failure; 2 for an invalid command line. */
export async function run(args: readonly string[], io: CliIo): Promise<number> {
  const program = buildProgram(io);
  try {
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    if (error instanceof CommandExit) return error.exitCode;
    const failure = error instanceof CommanderError ? usageFailure(withoutPrefix(error.message)) : failureOf(error);
    const shown = failure instanceof Failure ? failure : unexpected(failure, io);
    // Commander has printed its own.
    if (!(error instanceof CommanderError)) io.stderr.write(`error: ${printable(shown.message)}\n`);
    if (printsJson(program, args, error) && !shown.isInResult) io.stdout.write(showJson(errorBody(shown)));
    return shown.exitCode;
  }
}

/** A defect of Mayfly as one line. Its stack is shown only if MAYFLY_DEBUG is set. */
function unexpected(cause: unknown, { env, stderr }: CliIo): Failure {
  if (env.MAYFLY_DEBUG) stderr.write(`${inspect(cause)}\n`);
  const reason = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
  const [line = ''] = reason.split('\n');
  return new Failure(`Mayfly failed unexpectedly: ${line}. Set MAYFLY_DEBUG=1 to see where.`, { cause });
}

function isAboutProfiles(command: Command): boolean {
  return [command, command.parent].some((each) => ['login', 'logout', 'profiles'].includes(each?.name() ?? ''));
}

function withoutPrefix(message: string): string {
  return message.replace(/^error: /, '').replaceAll('\n', ' ');
}

/** Whether the command that was called prints its errors as JSON. The commands for operators and recipes have formats of their own. */
function printsJson(program: Command, args: readonly string[], error: unknown): boolean {
  if (args[0] === 'admin' || args[0] === 'template') return false;
  if (args[0] === 'api') return true;
  if (error instanceof CommanderError) {
    // An invalid command line was not parsed to its end.
    const end = args.indexOf('--');
    return args.slice(0, end < 0 ? undefined : end).includes('--json');
  }
  let called = program;
  for (const arg of args) {
    const next = called.commands.find((command) => command.name() === arg);
    if (next === undefined) break;
    called = next;
  }
  // A command that is called without its name is the default of its group.
  return [called, ...called.commands].some((command) => command.opts<{ json?: true }>().json === true);
}

const exitCodes = `
Exit codes: 0 success, 1 failure, 2 invalid command line, 3 the service refused the request or cannot be reached, 125 run, exec or shell
itself failed, 130 interrupted. Otherwise run, exec and shell exit with the code of the command in the sandbox.

Start with: mayfly login
`;

/** All commands, with their options. */
export function buildProgram(io: CliIo): Command {
  const program = new Command('mayfly')
    .description('Disposable sandboxes on your own hardware.')
    .version(version, '--version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
    .enablePositionalOptions()
    .addHelpText('after', exitCodes)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
      outputError: (text, write) => write(`${printable(text.trim().replaceAll('\n', ' '))}\n`),
    });
  program.hook('preAction', async (_program, command) => {
    const usesService = command.options.some(({ long }) => long === '--profile') && !isAboutProfiles(command);
    if (usesService) await ensureLocalProfile(io, command.opts(), process.getuid?.() === 0);
  });
  program.commandsGroup('Commands in a sandbox:');
  addRun(program, io);
  addExec(program, io);
  addShell(program, io);
  addCp(program, io);
  addLogs(program, io);
  program.commandsGroup('Sandboxes:');
  addCreate(program, io);
  addList(program, io);
  addRemove(program, io);
  addExtend(program, io);
  addPorts(program, io);
  addStats(program, io);
  program.commandsGroup('Snapshots and templates:');
  addSnapshots(program, io);
  addCopies(program, io);
  addTemplates(program, io);
  program.commandsGroup('Service and account:');
  addLogin(program, io);
  addProfiles(program, io);
  addAccount(program, io);
  addApi(program, io);
  addCompletion(program, io);
  program.commandsGroup('On the host of the service:');
  addAdmin(program, io);
  addInstallService(program);
  addDoctor(program);
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
