import type { Command } from 'commander';
import type { Surroundings } from '../surroundings.ts';
import { AdminClient } from './client.ts';
import { dataFolder, defaultDataDir } from './data-folder.ts';

/** The options of every administrative command. */
interface CommonOptions {
  readonly dataDir?: string;
  readonly json?: true;
}

export interface AdminCommand<Options, Result> {
  readonly name: string;
  /** One line in lower case; the command's own help begins with it as a sentence. */
  readonly summary: string;
  /** Adds the command's own options. */
  readonly options?: (command: Command) => Command;
  readonly act: (client: AdminClient, options: Options) => Promise<Result>;
  /** The result for people; with --json it is printed as it is. */
  readonly show: (result: Result) => string;
}

/** Adds a command that asks the service once and prints the answer. */
export function addAdminCommand<Options, Result>(
  parent: Command,
  { env, stdout }: Surroundings,
  { name, summary, options: addOptions, act, show }: AdminCommand<Options, Result>,
): void {
  const command = parent.command(name).summary(summary).description(sentenceOf(summary)).allowExcessArguments(false);
  addOptions?.(command);
  command
    .option('--json', 'print one JSON document')
    .option('--data-dir <folder>', `data folder of the service (default: MAYFLY_DATA_DIR, or ${defaultDataDir})`)
    .action(async (options: Options & CommonOptions) => {
      const result = await act(new AdminClient(dataFolder(options.dataDir, env)), options);
      stdout.write(options.json ? `${JSON.stringify(result, null, 2)}\n` : show(result));
    });
}

function sentenceOf(summary: string): string {
  return `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;
}
