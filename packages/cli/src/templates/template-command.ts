import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { sizeNames } from '@mayfly/contract';
import type { Command } from 'commander';
import { type CliIo, Failure, usageFailure } from '../cli-io.ts';
import { watchForInterruption } from '../interruption.ts';
import { parseInteger } from '../numbers.ts';
import { printable } from '../output.ts';
import { addServiceOptions, clientOf, type ServiceOptions } from '../service/client.ts';
import { buildTemplate } from './build/build.ts';
import type { PreparedRecipe, PreparedStep } from './build/plan.ts';
import { JsonProgress, TextProgress } from './build/progress.ts';
import { RecipeFolder } from './files/file-tree.ts';
import { parseDockerfile } from './recipe/dockerfile.ts';
import { aliasProblem, defaultReadyTimeoutMs, type Ready, RecipeError } from './recipe/recipe.ts';
import { parseYamlRecipe } from './recipe/yaml-recipe.ts';

interface Options extends ServiceOptions {
  readonly alias?: string;
  readonly cache: boolean;
  readonly timeout: string;
  readonly dockerfile?: true;
  readonly start?: string;
  readonly readyPort?: string;
  readonly readyCommand?: string;
  readonly readyTimeout?: string;
}

const maxRecipeBytes = 1024 ** 2;
/** Shorter than this, repeating steps costs no more than the snapshot that would save them. */
const keepAfterMs = 2_000;

const interruptionTexts = {
  notice: 'Interrupted: deleting the sandbox of the build. Press Ctrl-C again to leave it to its expiry.',
  failure: 'The build was interrupted.',
};

const examples = `
Examples:
  mayfly template build web-app.yaml
  mayfly template build Dockerfile --alias web-app --start "npm start" --ready-port 3000

Exit codes: 0 built, 1 a step failed, 2 the recipe or the command line is wrong, 3 the service refused something or cannot be reached,
130 interrupted.
`;

/** `mayfly template …`: prepares sandboxes once, for any number of copies. */
export function addTemplates(program: Command, io: CliIo): void {
  const template = program
    .command('template')
    .summary('build templates from recipes')
    .description('Build templates: prepared sandboxes that others are created from in about a second.')
    .helpCommand(false);
  const command = template
    .command('build')
    .argument('<file>', 'recipe in YAML, or a Dockerfile')
    .summary('build a template and save it under its alias')
    .description(
      'Run the steps of a recipe in a sandbox and save the result under an alias. Steps that have not changed since the last build are not repeated.',
    )
    .option('--alias <alias>', 'alias of the template (default: the one in the recipe)')
    .option('--no-cache', 'repeat all steps')
    .option('--timeout <minutes>', 'end the build after this time', '60')
    .option('--dockerfile', 'read the file as a Dockerfile, whatever its name is')
    .option('--start <command>', 'with a Dockerfile: command to start in the background before saving')
    .option('--ready-port <port>', 'with a Dockerfile: wait until this port listens')
    .option('--ready-command <command>', 'with a Dockerfile: wait until this command succeeds')
    .option('--ready-timeout <seconds>', 'with a Dockerfile: how long to wait (default: 60)');
  addServiceOptions(command, 'print one JSON object per line')
    .addHelpText('after', examples)
    .allowExcessArguments(false)
    .action((file: string, options: Options) => build(file, options, io));
}

async function build(file: string, options: Options, io: CliIo): Promise<void> {
  const lifetimeMinutes = parseInteger('--timeout', options.timeout, 1, 1440);
  const mayfly = clientOf(io, options);
  const recipe = await readRecipe(file, options, io);
  const progress = options.json ? new JsonProgress(io) : new TextProgress(io);
  using interruption = watchForInterruption(io, interruptionTexts);
  const tooLong = new AbortController();
  const timer = setTimeout(() => {
    tooLong.abort(new Failure(`The build did not finish within ${lifetimeMinutes} minutes. Raise --timeout.`));
  }, lifetimeMinutes * 60_000).unref();
  const signal = AbortSignal.any([interruption.first, tooLong.signal]);
  try {
    const { cache: useCache } = options;
    await buildTemplate(recipe, { mayfly, progress, signal, useCache, keepAfterMs, lifetimeMinutes, nowMs: Date.now });
  } finally {
    clearTimeout(timer);
    progress.close();
  }
}

/** Reads the recipe and its files, and prints every mistake. Nothing has run yet. */
async function readRecipe(file: string, options: Options, { stderr }: CliIo): Promise<PreparedRecipe> {
  const isDockerfile = options.dockerfile ?? /^dockerfile(\..*)?$|\.dockerfile$/i.test(basename(file));
  const ready = readyOptions(options);
  if (!isDockerfile && (options.start !== undefined || ready)) {
    throw usageFailure('--start and --ready-… are for a Dockerfile. Write start and ready into the recipe.');
  }
  const problem = options.alias === undefined ? undefined : aliasProblem(options.alias, sizeNames);
  if (problem) throw usageFailure(`--alias ${problem}.`);
  const source = await readSource(file);
  try {
    const { alias, start } = options;
    const parse = isDockerfile ? parseDockerfile : parseYamlRecipe;
    const recipe = parse(source, { alias, start, ready });
    const folder = await RecipeFolder.open(dirname(resolve(file)), { ignoreFile: isDockerfile });
    const steps: PreparedStep[] = [];
    for (const step of recipe.steps) {
      steps.push(step.kind === 'run' ? step : { ...step, tree: await folder.collect(step) });
    }
    return { ...recipe, steps };
  } catch (error) {
    if (!(error instanceof RecipeError)) throw error;
    for (const { line, field, message } of error.mistakes) {
      stderr.write(`${printable(`${file}:${line}: ${field === undefined ? '' : `${field} `}${message}`)}\n`);
    }
    throw new Failure(`${file} cannot be built as it is written. Nothing was run.`, { cause: error, exitCode: 2 });
  }
}

async function readSource(file: string): Promise<string> {
  try {
    if ((await stat(file)).size > maxRecipeBytes) throw new Error('it is larger than 1 MiB');
    return await readFile(file, 'utf8');
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Failure(`${file} could not be read: ${reason}.`, { cause, exitCode: 2 });
  }
}

function readyOptions({ readyPort, readyCommand, readyTimeout }: Options): Ready | undefined {
  if (readyPort !== undefined && readyCommand !== undefined) {
    throw usageFailure('--ready-port and --ready-command exclude each other.');
  }
  const timeoutMs =
    readyTimeout === undefined
      ? defaultReadyTimeoutMs
      : parseInteger('--ready-timeout', readyTimeout, 1, 86_400) * 1000;
  if (readyPort !== undefined)
    return { check: { port: parseInteger('--ready-port', readyPort, 1, 65_535) }, timeoutMs };
  if (readyCommand !== undefined) return { check: { command: readyCommand }, timeoutMs };
  if (readyTimeout !== undefined) throw usageFailure('--ready-timeout needs --ready-port or --ready-command.');
  return undefined;
}
