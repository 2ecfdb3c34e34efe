import { readFile } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import type { CommandLine, Sandbox } from '@mayfly/sdk';
import { Failure, usageFailure } from '../cli-io.ts';

/** What runs a script without a shebang, by the ending of its name. */
const interpreters: Readonly<Record<string, string>> = {
  '.bash': 'bash',
  '.cjs': 'node',
  '.js': 'node',
  '.lua': 'lua',
  '.mjs': 'node',
  '.php': 'php',
  '.pl': 'perl',
  '.py': 'python3',
  '.rb': 'ruby',
  '.sh': 'bash',
};
const folder = '/tmp/mayfly-run';
const makeExecutableAndRun = 'chmod 700 -- "$0" && exec -- "$0" "$@"';

/** A script of this machine that runs in a sandbox. */
export interface Script {
  readonly name: string;
  readonly content: Uint8Array;
  /** The program that runs it. Undefined if its first line says so. */
  readonly interpreter: string | undefined;
}

/** Throws a Failure if the file cannot be read or it is not known what runs it. */
export async function readScript(path: string): Promise<Script> {
  const content = await readFile(path).catch((cause: NodeJS.ErrnoException) => {
    throw new Failure(`${path} could not be read: ${cause.code ?? cause.message}.`, { cause, exitCode: 2 });
  });
  const name = basename(path);
  if (content.subarray(0, 2).toString() === '#!') return { name, content, interpreter: undefined };
  const interpreter = interpreters[extname(name).toLowerCase()];
  if (interpreter === undefined) {
    const known = Object.keys(interpreters).join(', ');
    throw usageFailure(
      `${path} does not say what runs it. Begin it with a line like #!/bin/sh, or use one of ${known}.`,
    );
  }
  return { name, content, interpreter };
}

/** Writes the script into a sandbox and returns the command that runs it. */
export async function uploadScript(
  sandbox: Sandbox,
  { name, content, interpreter }: Script,
  args: readonly string[],
  signal: AbortSignal,
): Promise<CommandLine> {
  const path = `${folder}/${name}`;
  await sandbox.files.write(path, content, { signal });
  return interpreter === undefined ? ['bash', '-c', makeExecutableAndRun, path, ...args] : [interpreter, path, ...args];
}
