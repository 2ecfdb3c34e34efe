import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { run } from '../src/run.ts';

/** What `npx mayfly` runs. */
export const mayflyPath = fileURLToPath(new URL('../bin/mayfly.mjs', import.meta.url));

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program of Node.js to its end; on another Node.js than this one if need be. */
export async function runNode(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  node: string = process.execPath,
): Promise<Ran> {
  const child = spawn(node, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve, reject) => child.once('close', resolve).once('error', reject));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, stdout, stderr };
}

/** The `mayfly` command as an operator runs it. */
export async function mayfly(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> {
  return await runNode([mayflyPath, ...args], env);
}

/** The same without a process of its own, for what does not need one. */
export async function mayflyInside(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> {
  let stdout = '';
  let stderr = '';
  const code = await run(args, {
    env,
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
  });
  return { code, stdout, stderr };
}
