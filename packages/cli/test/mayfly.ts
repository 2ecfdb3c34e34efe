import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { run } from '../src/program.ts';

/** The program that `npx mayfly` runs. */
export const mayflyPath = fileURLToPath(new URL('../bin/mayfly.mjs', import.meta.url));

export interface RunResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs Node.js with the given arguments to its end. */
export async function runNode(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  node: string = process.execPath,
): Promise<RunResult> {
  const child = spawn(node, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve, reject) => child.once('close', resolve).once('error', reject));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, stdout, stderr };
}

/** Runs the `mayfly` command in a process of its own. */
export async function mayfly(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<RunResult> {
  return await runNode([mayflyPath, ...args], env);
}

/** Runs the `mayfly` command in this process, which is faster. */
export async function mayflyInProcess(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<RunResult> {
  let stdout = '';
  let stderr = '';
  const code = await run(args, {
    env,
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
  });
  return { code, stdout, stderr };
}
