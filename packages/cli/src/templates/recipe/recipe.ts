import { quote } from '../../quote.ts';

/** Copies files from the folder of the recipe into the sandbox. */
export interface CopyStep {
  readonly kind: 'copy';
  readonly line: number;
  /** What progress shows. */
  readonly label: string;
  /** Paths below the folder of the recipe, as written; a Dockerfile's may contain wildcards. */
  readonly sources: readonly string[];
  readonly wildcards: boolean;
  /** An absolute path in the sandbox. */
  readonly destination: string;
  /** Whether a file keeps its name below the destination. Otherwise the destination is the file's new path. */
  readonly intoFolder: boolean;
  /** The permission bits of copied files. Folders keep theirs. */
  readonly mode: number | undefined;
}

/** A command line for bash, with everything it needs to run. */
export interface CommandLine {
  readonly command: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Runs a command in the sandbox, which must exit with 0. */
export interface RunStep extends CommandLine {
  readonly kind: 'run';
  readonly line: number;
  readonly label: string;
  readonly timeoutMs: number;
}

export type Step = CopyStep | RunStep;

/** What must be true before the result is saved. */
export interface Ready {
  readonly check: { readonly port: number } | { readonly command: string };
  readonly timeoutMs: number;
}

/** What follows the steps: a command in the background, a condition to wait for, or both. */
export interface Finish {
  readonly label: string;
  readonly start: string | undefined;
  readonly ready: Ready | undefined;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A recipe, whichever format it was written in. */
export interface Recipe {
  readonly alias: string;
  /** A size name or the alias of another template. */
  readonly base: string;
  readonly steps: readonly Step[];
  readonly finish: Finish | undefined;
}

/** What the command line adds to a recipe. */
export interface RecipeOptions {
  readonly alias?: string | undefined;
  readonly start?: string | undefined;
  readonly ready?: Ready | undefined;
}

/** One mistake in a recipe. */
export interface Mistake {
  /** Counted from 1. */
  readonly line: number;
  readonly field?: string | undefined;
  readonly message: string;
}

/** A recipe that cannot be built as it is written. */
export class RecipeError extends Error {
  readonly mistakes: readonly Mistake[];

  constructor(mistakes: readonly Mistake[]) {
    super(mistakes.map(({ message }) => message).join('; '));
    this.name = 'RecipeError';
    this.mistakes = mistakes;
  }
}

export const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;
export const defaultStepTimeoutMs = 600_000;
export const defaultReadyTimeoutMs = 60_000;

/** The longest command that the service accepts by default, in characters. The prefix that a step adds fits as well. */
export const maxCommandCharacters = 99_000;

const aliasPattern = /^[a-z0-9][a-z0-9._-]{0,99}$/;

/** What is wrong with an alias; undefined if nothing is. */
export function aliasProblem(alias: string, sizeNames: readonly string[]): string | undefined {
  if (sizeNames.includes(alias)) return `must not be the name of a size (${sizeNames.join(', ')})`;
  if (aliasPattern.test(alias)) return undefined;
  return 'must be 1 to 100 of the characters a-z, 0-9, ".", "_" and "-", and start with a letter or digit';
}

/** The step that makes a working directory exist. */
export function makeFolderStep(path: string, line: number, label: string): RunStep {
  const command = `mkdir -p -- ${quote(path)}`;
  return { kind: 'run', line, label, command, cwd: '/', env: {}, timeoutMs: defaultStepTimeoutMs };
}

/** The finish of a recipe; undefined if nothing is to be started or waited for. */
export function finishOf(
  start: string | undefined,
  ready: Ready | undefined,
  cwd: string,
  env: Readonly<Record<string, string>>,
): Finish | undefined {
  if (start === undefined && ready === undefined) return undefined;
  const condition =
    ready && ('port' in ready.check ? `port ${ready.check.port} listens` : `\`${ready.check.command}\` succeeds`);
  const started = start === undefined ? 'wait' : `start ${start}`;
  return { label: condition ? `${started} until ${condition}` : started, start, ready, cwd, env };
}
