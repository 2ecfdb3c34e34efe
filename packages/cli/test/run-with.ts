import { PassThrough } from 'node:stream';
import { run } from '../src/program.ts';
import type { RunResult } from './mayfly.ts';

export interface RunOptions {
  /** What is piped into the command. */
  readonly stdin?: string;
  /** Makes all three streams a terminal of this width. */
  readonly terminalColumns?: number;
  /** The lines that are typed, one for each question. */
  readonly answers?: readonly string[];
  readonly nowMs?: () => number;
}

/** Runs the `mayfly` command in this process, with an input or on a terminal. */
export async function runWith(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  { stdin = '', terminalColumns, answers = [], nowMs = Date.now }: RunOptions = {},
): Promise<RunResult> {
  let stdout = '';
  let stderr = '';
  const isTTY = terminalColumns !== undefined;
  const input = Object.assign(new PassThrough(), { isTTY });
  if (!isTTY) input.end(stdin);
  const left = [...answers];
  const code = await run(args, {
    env,
    stdin: input,
    stdout: { write: (text) => (stdout += String(text)), isTTY, columns: terminalColumns ?? 80 },
    stderr: {
      write: (text) => {
        stderr += Buffer.from(text).toString();
        // A question ends with a space. Its answer is typed when it has been asked.
        const answer = /[:\]] $/.test(stderr) ? left.shift() : undefined;
        if (answer !== undefined) setImmediate(() => input.write(`${answer}\n`));
      },
      isTTY,
    },
    nowMs,
  });
  return { code, stdout, stderr };
}
