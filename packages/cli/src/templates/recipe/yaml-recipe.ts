import { posix } from 'node:path';
import { sizeNames, workspacePath } from '@mayfly/contract';
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import {
  aliasProblem,
  type CopyStep,
  defaultReadyTimeoutMs,
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

// The document is read with YAML's failsafe schema: every scalar is the text as it is written. `mode: 0755` and `VERSION: 1.10` are
// therefore not mistaken for numbers.

const text = (what: string) =>
  z
    .string({ error: `must be ${what}` })
    .min(1, { error: `must be ${what}` })
    .refine((value) => !value.includes('\0'), { error: 'must not contain NUL characters' });

const command = text('a command').refine((value) => value.length <= maxCommandCharacters, {
  error: `must be at most ${maxCommandCharacters} characters`,
});

function integer(min: number, max: number) {
  const error = `must be an integer from ${min} to ${max}`;
  return z
    .string({ error })
    .regex(/^\d{1,9}$/, { error, abort: true })
    .transform(Number)
    .pipe(z.number().min(min, { error }).max(max, { error }));
}

const aliasField = text('an alias').check(({ value, issues }) => {
  const problem = aliasProblem(value, sizeNames);
  if (problem) issues.push({ code: 'custom', input: value, message: problem });
});

const environment = z.record(
  z.string().regex(variableName, { error: 'is not a valid variable name' }),
  z
    .string({ error: 'must be text' })
    .refine((value) => !value.includes('\0'), { error: 'must not contain NUL characters' }),
  { error: 'must be a map of variables' },
);

const timeoutSeconds = integer(1, 86_400);

const fileSchema = z.strictObject(
  {
    from: text('a path below the folder of the recipe'),
    to: text('a path in the sandbox'),
    mode: z
      .string({ error: 'must be an octal mode such as 0644' })
      .regex(/^0?[0-7]{3}$/, { error: 'must be an octal mode such as 0644' })
      .transform((mode) => Number.parseInt(mode, 8))
      .optional(),
  },
  { error: 'must have the fields from and to' },
);

const stepSchema = z.preprocess(
  (step) => (typeof step === 'string' ? { run: step } : step),
  z.strictObject(
    {
      run: command,
      cwd: text('a path in the sandbox').optional(),
      env: environment.default({}),
      timeout_seconds: timeoutSeconds.optional(),
    },
    { error: 'must be a command, or have the field run' },
  ),
);

const readySchema = z
  .strictObject(
    {
      port: integer(1, 65_535).optional(),
      command: command.optional(),
      timeout_seconds: timeoutSeconds.optional(),
    },
    { error: 'must have the field port or command' },
  )
  .refine(({ port, command: given }) => (port === undefined) !== (given === undefined), {
    error: 'must have exactly one of the fields port and command',
  });

const recipeSchema = z.strictObject(
  {
    alias: aliasField.optional(),
    base: text('a size or the alias of another template').default('small'),
    files: z.array(fileSchema, { error: 'must be a list' }).default([]),
    steps: z.array(stepSchema, { error: 'must be a list' }).default([]),
    env: environment.default({}),
    workdir: text('a path in the sandbox').optional(),
    start: command.optional(),
    ready: readySchema.optional(),
  },
  { error: 'must be a map with the fields alias, base, files, steps, env, workdir, start and ready' },
);

/** Reads a recipe in YAML. Throws a RecipeError that lists every mistake with its line and field. */
export function parseYamlRecipe(source: string, options: RecipeOptions = {}): Recipe {
  const lines = new LineCounter();
  const document = parseDocument(source, { schema: 'failsafe', lineCounter: lines, prettyErrors: false });
  if (document.errors.length > 0) {
    throw new RecipeError(
      document.errors.map(({ pos, message }) => ({ line: lines.linePos(pos[0]).line, message: message.trim() })),
    );
  }
  const lineOf = (path: readonly PropertyKey[], key?: string) => findLine(document, lines, path, key);
  const { data, error } = recipeSchema.safeParse(toValue(document));
  const alias = options.alias ?? data?.alias;
  const mistakes = error ? error.issues.flatMap((issue) => mistakesOf(issue, lineOf)) : [];
  if (data && alias === undefined) {
    mistakes.push({ line: 1, field: 'alias', message: 'is missing. Add it, or pass --alias' });
  }
  if (mistakes.length > 0 || !data || alias === undefined) throw new RecipeError(mistakes);
  if (data.base === alias) {
    throw new RecipeError([{ line: lineOf(['base']), field: 'base', message: 'must not be the template itself' }]);
  }

  const workdir = posix.resolve(workspacePath, data.workdir ?? '.');
  const steps: Step[] = [];
  if (data.workdir !== undefined) {
    steps.push(makeFolderStep(workdir, lineOf(['workdir']), `make the folder ${workdir}`));
  }
  data.files.forEach(({ from, to, mode }, index) => {
    const copy: CopyStep = {
      kind: 'copy',
      line: lineOf(['files', index]),
      label: `copy ${from} to ${to}`,
      sources: [from],
      wildcards: false,
      destination: posix.resolve(workdir, to),
      intoFolder: namesFolder(to, posix.resolve(workdir, to), workdir),
      mode,
    };
    steps.push(copy);
  });
  data.steps.forEach(({ run, cwd, env, timeout_seconds }, index) => {
    steps.push({
      kind: 'run',
      line: lineOf(['steps', index]),
      label: run,
      // A step of several lines ends at the first one that fails.
      command: `set -e\n${run}`,
      cwd: posix.resolve(workdir, cwd ?? '.'),
      env: { ...data.env, ...env },
      timeoutMs: timeout_seconds === undefined ? defaultStepTimeoutMs : timeout_seconds * 1000,
    });
  });
  const ready = data.ready && {
    check: data.ready.port === undefined ? { command: data.ready.command ?? '' } : { port: data.ready.port },
    timeoutMs: data.ready.timeout_seconds === undefined ? defaultReadyTimeoutMs : data.ready.timeout_seconds * 1000,
  };
  return { alias, base: data.base, steps, finish: finishOf(data.start, ready, workdir, data.env) };
}

/** Whether a destination can only be a folder: `app/`, `.` or the working directory. */
export function namesFolder(written: string, resolved: string, ...knownFolders: readonly string[]): boolean {
  return /(^|\/)\.{0,2}$/.test(written) || [workspacePath, ...knownFolders].includes(resolved);
}

function toValue(document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 }) as unknown;
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new RecipeError([{ line: 1, message }]);
  }
}

type LineOf = (path: readonly PropertyKey[], key?: string) => number;

function mistakesOf(issue: z.core.$ZodIssue, lineOf: LineOf): Mistake[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      line: lineOf(issue.path, key),
      field: fieldName([...issue.path, key]),
      message: 'is not a field of a recipe here',
    }));
  }
  // The name of a variable is reported on the key of the map.
  const message = issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message;
  return [{ line: lineOf(issue.path), field: fieldName(issue.path), message }];
}

function fieldName(path: readonly PropertyKey[]): string | undefined {
  if (path.length === 0) return undefined;
  return path
    .map((part, at) => (typeof part === 'number' ? `[${part}]` : `${at > 0 ? '.' : ''}${String(part)}`))
    .join('');
}

/** The line of the deepest node on the way to a field, which exists even if the field does not. */
function findLine(document: Document, lines: LineCounter, path: readonly PropertyKey[], key?: string): number {
  const full = key === undefined ? path : [...path, key];
  for (let depth = full.length; depth >= 0; depth--) {
    const offset = keyOffset(document, full.slice(0, depth)) ?? valueOffset(document, full.slice(0, depth));
    if (offset !== undefined) return lines.linePos(offset).line;
  }
  return 1;
}

function keyOffset(document: Document, path: readonly PropertyKey[]): number | undefined {
  const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  if (path.length === 0 || !isMap(parent)) return undefined;
  const pair = parent.items.find(({ key }) => isScalar(key) && key.value === path.at(-1));
  return isNode(pair?.key) ? pair.key.range?.[0] : undefined;
}

function valueOffset(document: Document, path: readonly PropertyKey[]): number | undefined {
  const node = path.length === 0 ? document.contents : document.getIn(path, true);
  return isNode(node) ? node.range?.[0] : undefined;
}
