import { spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
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

/** Starts the `mayfly` command in a process of its own, whose streams a test uses. */
export function startMayfly(args: readonly string[], env: NodeJS.ProcessEnv = {}, node: string = process.execPath) {
  const child = spawn(node, [mayflyPath, ...args], { env: { ...process.env, ...env } });
  const ended = new Promise<number | null>((resolve, reject) => child.once('close', resolve).once('error', reject));
  const stdout = buffer(child.stdout);
  const stderr = text(child.stderr);
  // A test may close the pipe before its end.
  stdout.catch(() => {});
  // A command that does not read its input may end before all of it is written.
  child.stdin.on('error', () => {});
  return { child, ended, stdout, stderr };
}

/** Runs the `mayfly` command in this process, which is faster. */
export async function mayflyInProcess(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  stdin?: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<RunResult & { readonly bytes: Buffer }> {
  const written: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] };
  const code = await run(args, {
    env,
    stdout: { write: (text) => written.stdout.push(Buffer.from(text)) },
    stderr: { write: (text) => written.stderr.push(Buffer.from(text)) },
    ...(stdin && { stdin: Readable.from(stdin) }),
  });
  const bytes = Buffer.concat(written.stdout);
  return { code, stdout: bytes.toString(), stderr: Buffer.concat(written.stderr).toString(), bytes };
}
