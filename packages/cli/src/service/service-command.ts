import type { Mayfly, Sandbox } from '@mayfly/sdk';
import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { type InterruptionTexts, watchForInterruption } from '../interruption.ts';
import { type Screen, screenOf, showJson } from '../output.ts';
import { withProgressLine } from '../progress-line.ts';
import { addServiceOptions, clientOf, type ServiceOptions } from './client.ts';
import { findSandbox } from './find-sandbox.ts';

/** What a command works with. */
interface ServiceContext {
  readonly mayfly: Mayfly;
  /** Aborts on Ctrl-C, SIGTERM and SIGHUP. */
  readonly signal: AbortSignal;
  /** The sandbox that a user means. Throws a Failure if there is none. */
  readonly find: (text: string, options?: { readonly exact: true }) => Promise<Sandbox>;
}

/** A command that uses a service and prints one result. */
export interface ServiceCommand<Args extends readonly unknown[], Options, Result> {
  readonly name: string;
  /** Each with its description: `['<sandbox>', 'id or name']`. */
  readonly arguments?: readonly (readonly [string, string])[];
  /** One line in lower case without a full stop, as in the list of commands. */
  readonly summary: string;
  /** What else users should know: whole sentences. */
  readonly details?: string;
  readonly examples?: readonly string[];
  /** Whether it runs when its parent is called without the name of a command. */
  readonly isDefault?: true;
  readonly interruption?: InterruptionTexts;
  /** What it is doing, for a terminal: `Creating the sandbox …`. Printed if it takes long. */
  readonly progress?: string;
  readonly options?: (command: Command) => Command;
  readonly act: (context: ServiceContext, options: Options, ...args: Args) => Promise<Result>;
  /** The result in the words of the API, for --json. */
  readonly json: (result: Result) => unknown;
  /** The result for people on a terminal, and for programs otherwise. */
  readonly show: (result: Result, screen: Screen) => string;
  /** Throws a Failure if a part of it failed. Called when the result has been printed. */
  readonly check?: (result: Result) => void;
}

/** Adds a command that uses the service that its options name. */
export function addServiceCommand<Args extends readonly unknown[], Options, Result>(
  parent: Command,
  io: CliIo,
  definition: ServiceCommand<Args, Options, Result>,
): void {
  const { name, summary, details, isDefault = false } = definition;
  const command = parent.command(name, { isDefault }).summary(summary).description(sentences(summary, details));
  for (const [syntax, description] of definition.arguments ?? []) command.argument(syntax, description);
  definition.options?.(command);
  addServiceOptions(command)
    .addHelpText('after', examplesText(definition.examples))
    .action(async (...values: unknown[]) => {
      // Commander passes the arguments, then the options and the command.
      const args = values.slice(0, -2) as unknown as Args;
      const options = command.opts<Options & ServiceOptions>();
      using interruption = watchForInterruption(io, definition.interruption);
      const signal = interruption.first;
      const mayfly = clientOf(io, options);
      const find: ServiceContext['find'] = (text, how) => findSandbox(mayfly, text, { ...how, signal });
      const act = () => definition.act({ mayfly, signal, find }, options, ...args);
      const { progress } = definition;
      const result = await (progress === undefined ? act() : withProgressLine(io, progress, act));
      io.stdout.write(options.json ? showJson(definition.json(result)) : definition.show(result, screenOf(io)));
      definition.check?.(result);
    });
}

/** Adds a command that only groups others. */
export function addGroup(parent: Command, name: string, summary: string): Command {
  return parent.command(name).summary(summary).description(sentences(summary)).helpCommand(false);
}

/** The examples of a command below its help. */
export function examplesText(examples: readonly string[] = []): string {
  return examples.length === 0 ? '' : `\nExamples:\n${examples.map((example) => `  ${example}\n`).join('')}`;
}

/** A summary as a sentence, and what follows it. */
export function sentences(summary: string, details = ''): string {
  return `${summary.charAt(0).toUpperCase()}${summary.slice(1)}. ${details}`.trim();
}

/** A whole list as the API sends it. */
export function apiList(data: readonly unknown[]): object {
  return { object: 'list', data, has_more: false, next_cursor: null };
}
