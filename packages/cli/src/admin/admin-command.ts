import { userInfo } from 'node:os';
import { resolve } from 'node:path';
import { defaultDataDir } from '@mayfly/contract/admin';
import type { Command } from 'commander';
import { type CliIo, usageFailure } from '../cli-io.ts';
import { sentences } from '../service/service-command.ts';
import { AdminClient } from './client.ts';

export interface AdminCommand<Options, Result> {
  readonly name: string;
  /** One line in lower case without a full stop, as in the list of commands. */
  readonly summary: string;
  /** Adds the options of this command. */
  readonly options?: (command: Command) => Command;
  readonly act: (client: AdminClient, options: Options) => Promise<Result>;
  /** Formats the result, unless --json is given. */
  readonly show: (result: Result) => string;
}

/** The options of every admin command. */
interface CommonOptions {
  readonly dataDir?: string;
  readonly json?: true;
}

/** Adds a command that makes one request to the service and prints the result. */
export function addAdminCommand<Options, Result>(
  parent: Command,
  { env, stdout }: CliIo,
  { name, summary, options: addOptions, act, show }: AdminCommand<Options, Result>,
): void {
  const command = parent.command(name).summary(summary).description(sentences(summary)).allowExcessArguments(false);
  addOptions?.(command);
  command
    .option('--json', 'print the result as JSON')
    .option('--data-dir <folder>', `data folder of the service (default: $MAYFLY_DATA_DIR or ${defaultDataDir})`)
    .action(async (options: Options & CommonOptions) => {
      const result = await act(adminClientOf(env, options.dataDir), options);
      stdout.write(options.json ? `${JSON.stringify(result, null, 2)}\n` : show(result));
    });
}

/** The client of the admin socket of the service on this machine. */
export function adminClientOf(env: CliIo['env'], dataDir?: string): AdminClient {
  return new AdminClient(dataFolder(dataDir, env), operatorName(env));
}

export interface EmailOptions {
  readonly email: string;
}

/** Adds the option that selects the account. */
export function addEmail(command: Command): Command {
  return command.requiredOption('--email <address>', 'e-mail address of the account');
}

/** Who runs the command: with sudo the user behind it, otherwise the user of the process. */
function operatorName(env: Readonly<NodeJS.ProcessEnv>): string {
  try {
    return env.SUDO_USER || userInfo().username;
  } catch {
    // The uid has no entry in the user database.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}

function dataFolder(option: string | undefined, env: Readonly<NodeJS.ProcessEnv>): string {
  if (option === '') throw usageFailure('--data-dir must not be empty.');
  return resolve(option ?? (env.MAYFLY_DATA_DIR || defaultDataDir));
}
