import { posix } from 'node:path';
import { sizeNames, workspacePath } from '@mayfly/contract';
import { quote } from '../../quote.ts';
import { expandWord, jsonWords, splitWords, WordError } from './dockerfile-words.ts';
import {
  aliasProblem,
  defaultStepTimeoutMs,
  finishOf,
  type Mistake,
  makeFolderStep,
  maxCommandCharacters,
  type Recipe,
  RecipeError,
  type RecipeOptions,
  type Step,
  variableName,
} from './recipe.ts';
import { namesFolder } from './yaml-recipe.ts';

const supported = ['FROM', 'RUN', 'COPY', 'ENV', 'WORKDIR'];

/** What to use instead of the instructions that are not supported. */
const alternatives: Readonly<Record<string, string>> = {
  ADD: 'Use COPY for files and RUN with curl or tar for the rest',
  ARG: 'Use ENV',
  CMD: 'Pass the command with --start',
  ENTRYPOINT: 'Pass the command with --start',
  EXPOSE: 'Every port can be opened later. To wait for one, pass --ready-port',
  HEALTHCHECK: 'Pass --ready-command',
  LABEL: 'Remove it',
  MAINTAINER: 'Remove it',
  ONBUILD: 'Put the instruction into the Dockerfile that is built',
  SHELL: 'Commands are run by bash. Start another shell in RUN',
  STOPSIGNAL: 'Remove it',
  USER: 'Commands always run as the user sandbox. Remove it',
  VOLUME: 'The whole disk is saved. Remove it',
};

interface Instruction {
  readonly line: number;
  /** In upper case. */
  readonly name: string;
  readonly text: string;
}

interface State {
  base: string | undefined;
  workdir: string;
  readonly folders: string[];
  env: Readonly<Record<string, string>>;
  readonly steps: Step[];
}

/** Reads a Dockerfile: FROM, RUN, COPY, ENV and WORKDIR. Throws a RecipeError that lists every mistake with its line. */
export function parseDockerfile(source: string, options: RecipeOptions): Recipe {
  const mistakes: Mistake[] = [];
  const state: State = { base: undefined, workdir: workspacePath, folders: [workspacePath], env: {}, steps: [] };
  for (const instruction of instructionsOf(source, mistakes)) {
    try {
      apply(instruction, state);
    } catch (error) {
      if (!(error instanceof WordError)) throw error;
      mistakes.push({ line: instruction.line, field: instruction.name, message: error.message });
    }
  }
  const { alias, start, ready } = options;
  if (state.base === undefined && mistakes.length === 0) {
    mistakes.push({
      line: 1,
      field: 'FROM',
      message: `is missing. Start with FROM and one of ${sizeNames.join(', ')}`,
    });
  }
  if (alias === undefined) mistakes.push({ line: 1, field: 'alias', message: 'is missing. Pass --alias' });
  if (mistakes.length > 0 || state.base === undefined || alias === undefined) throw new RecipeError(mistakes);
  if (state.base === alias) {
    throw new RecipeError([{ line: 1, field: 'FROM', message: 'must not be the template itself' }]);
  }
  return { alias, base: state.base, steps: state.steps, finish: finishOf(start, ready, state.workdir, state.env) };
}

/** Joins continued lines and drops comments. */
function instructionsOf(source: string, mistakes: Mistake[]): Instruction[] {
  const found: Instruction[] = [];
  let atTop = true;
  let open: { line: number; text: string } | undefined;
  const close = () => {
    if (!open) return;
    const [, name = '', text = ''] = /^\s*(\S+)\s*(.*)$/s.exec(open.text) ?? [];
    found.push({ line: open.line, name: name.toUpperCase(), text: text.trim() });
    open = undefined;
  };
  source
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .forEach((content, index) => {
      const line = index + 1;
      const [, directive] = (atTop && /^#\s*(syntax|escape|check)\s*=/i.exec(content)) || [];
      if (directive) {
        mistakes.push({ line, message: `the parser directive ${directive} is not supported. Remove the line` });
        return;
      }
      atTop = false;
      // Comments and empty lines between continued lines belong to no instruction.
      if (/^\s*(#|$)/.test(content)) return;
      const continued = /\\[ \t]*$/.test(content);
      const text = continued ? content.replace(/\\[ \t]*$/, '') : content;
      open = open ? { line: open.line, text: open.text + text } : { line, text };
      if (!continued) close();
    });
  close();
  return found;
}

function apply({ line, name, text }: Instruction, state: State): void {
  if (name !== 'FROM' && state.base === undefined && supported.includes(name))
    throw new WordError('must come after FROM');
  if (text === '' && supported.includes(name)) throw new WordError('has no arguments');
  if (name === 'FROM') applyFrom(text, state);
  else if (name === 'RUN') applyRun(text, line, state);
  else if (name === 'COPY') applyCopy(text, line, state);
  else if (name === 'ENV') applyEnv(text, state);
  else if (name === 'WORKDIR') applyWorkdir(text, line, state);
  else throw new WordError(`is not supported. ${alternatives[name] ?? `Supported are ${supported.join(', ')}`}`);
}

function applyFrom(text: string, state: State): void {
  const words = text.split(/\s+/);
  if (state.base !== undefined || /^as$/i.test(words[1] ?? '')) {
    throw new WordError(
      'with stages is not supported. Build one template per stage, and start the next one from its alias',
    );
  }
  const [image = ''] = words;
  if (image.startsWith('--')) throw new WordError(`does not support ${image}. Remove it`);
  const base = image.replace(/^mayfly:/, '');
  const isSize = (sizeNames as readonly string[]).includes(base);
  if (words.length > 1 || (!isSize && (image !== base || aliasProblem(base, sizeNames) !== undefined))) {
    throw new WordError(
      `must name a size (${sizeNames.join(', ')}) or the alias of a template. Images of registries cannot be used`,
    );
  }
  state.base = base;
}

function applyRun(text: string, line: number, { workdir, env, steps }: State): void {
  const [flag] = /^--[a-z]+/.exec(text) ?? [];
  if (flag) throw new WordError(`does not support ${flag}. Remove it`);
  refuseHeredoc(text);
  const command = jsonWords(text)?.map(quote).join(' ') ?? text;
  if (command.length > maxCommandCharacters) {
    throw new WordError(`must be at most ${maxCommandCharacters} characters. Copy a script in and run it`);
  }
  if (command.includes('\0')) throw new WordError('must not contain NUL characters');
  steps.push({ kind: 'run', line, label: `RUN ${text}`, command, cwd: workdir, env, timeoutMs: defaultStepTimeoutMs });
}

function refuseHeredoc(text: string): void {
  if (/(^|\s)\d*<<-?["']?[A-Za-z_]/.test(text)) {
    throw new WordError('with a heredoc is not supported. Copy a script in and run it, or join lines with \\');
  }
}

function applyCopy(text: string, line: number, { workdir, folders, env, steps }: State): void {
  refuseHeredoc(text);
  const [, flags = '', rest = ''] = /^((?:--\S+\s+)*)(.*)$/s.exec(text) ?? [];
  const mode = copyMode(flags);
  const words = jsonWords(rest) ?? splitWords(rest).map((word) => expandWord(word, env));
  const written = words.at(-1) ?? '';
  const sources = words.slice(0, -1);
  if (sources.length === 0) throw new WordError('needs a source and a destination');
  const destination = posix.resolve(workdir, written);
  const intoFolder = namesFolder(written, destination, ...folders);
  if (sources.length > 1 && !intoFolder)
    throw new WordError('with several sources needs a destination that ends with /');
  const label = `COPY ${text}`;
  steps.push({ kind: 'copy', line, label, sources, wildcards: true, destination, intoFolder, mode });
}

function copyMode(flags: string): number | undefined {
  let mode: number | undefined;
  for (const flag of flags.split(/\s+/).filter(Boolean)) {
    const [, octal] = /^--chmod=(0?[0-7]{3})$/.exec(flag) ?? [];
    if (octal !== undefined) mode = Number.parseInt(octal, 8);
    else if (flag.startsWith('--chmod')) throw new WordError('needs an octal mode, such as --chmod=755');
    else if (flag.startsWith('--chown'))
      throw new WordError('does not support --chown: files belong to the user sandbox. Remove it');
    else if (flag.startsWith('--from'))
      throw new WordError('does not support --from. Start from the alias of the other template');
    else throw new WordError(`does not support ${flag.replace(/=.*/s, '')}. Remove it`);
  }
  return mode;
}

function applyEnv(text: string, state: State): void {
  const before = state.env;
  const [first = ''] = splitWords(text);
  const assignments: [string, string][] = [];
  if (/^[^'"\s]*=/.test(first)) {
    for (const word of splitWords(text)) {
      const at = word.indexOf('=');
      if (at < 0) throw new WordError('needs NAME=value. Quote a value with spaces');
      assignments.push([word.slice(0, at), expandWord(word.slice(at + 1), before)]);
    }
  } else {
    const [, name = '', value = ''] = /^(\S+)\s*(.*)$/s.exec(text) ?? [];
    if (value === '') throw new WordError('needs NAME=value');
    assignments.push([name, expandWord(value, before)]);
  }
  for (const [name, value] of assignments) {
    if (!variableName.test(name))
      throw new WordError(`has ${JSON.stringify(name)}, which is not a valid variable name`);
    if (value.includes('\0')) throw new WordError('must not contain NUL characters');
  }
  state.env = { ...before, ...Object.fromEntries(assignments) };
}

function applyWorkdir(text: string, line: number, state: State): void {
  state.workdir = posix.resolve(state.workdir, expandWord(text, state.env));
  state.folders.push(state.workdir);
  state.steps.push(makeFolderStep(state.workdir, line, `WORKDIR ${text}`));
}
