import { spawn } from 'node:child_process';
import { SetupError } from './setup-error.ts';

export interface RunOptions {
  readonly cwd?: string;
  /** The whole environment of the command; the own one when absent. */
  readonly env?: NodeJS.ProcessEnv;
  /** Written to the command's standard input. */
  readonly input?: string;
  /** Called with each line of output as it comes. */
  readonly onLine?: (line: string) => void;
  /** Ends the command and everything it started. */
  readonly signal?: AbortSignal;
}

const keptLines = 400;
const killAfterMs = 5_000;

/** What the command printed on standard output; a failure names the command and shows its last lines. */
export async function runCommand(file: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  options.signal?.throwIfAborted();
  const child = spawn(file, args, {
    cwd: options.cwd,
    env: options.env ?? process.env,
    stdio: ['pipe', 'pipe', 'pipe'],
    // A process group of its own, so that it can be ended together with what it started.
    detached: true,
  });
  let killTimer: NodeJS.Timeout | undefined;
  const onAbort = () => {
    signalGroup(child.pid, 'SIGTERM');
    killTimer = setTimeout(() => signalGroup(child.pid, 'SIGKILL'), killAfterMs);
  };
  options.signal?.addEventListener('abort', onAbort);
  const tail: string[] = [];
  let stdout = '';
  let unfinished = '';
  const readLines = (text: string) => {
    const lines = (unfinished + text).split(/[\r\n]+/);
    unfinished = lines.pop() ?? '';
    for (const line of lines.filter((each) => each.trim() !== '')) {
      tail.push(line);
      if (tail.length > keptLines) tail.shift();
      options.onLine?.(line.trim());
    }
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    readLines(text);
  });
  child.stderr.setEncoding('utf8').on('data', readLines);
  child.stdin.on('error', () => {}).end(options.input ?? '');
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  child.on('error', (cause) => reject(new SetupError(`${file} could not be started: ${cause.message}`, { cause })));
  child.on('close', (code, signal) => {
    if (code === 0) return resolve(stdout);
    readLines('\n');
    const how = code === null ? `was ended by ${signal}` : `failed with exit code ${code}`;
    reject(
      new SetupError([`${file} ${how}. Its last words:`, ...tail.slice(-25).map((line) => `  ${line}`)].join('\n')),
    );
  });
  try {
    return await promise;
  } finally {
    clearTimeout(killTimer);
    options.signal?.removeEventListener('abort', onAbort);
    options.signal?.throwIfAborted();
  }
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // It ended by itself.
  }
}

/** What the command printed, or undefined when it is missing or fails. */
export async function tryCommand(
  file: string,
  args: readonly string[],
  env?: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  return await runCommand(file, args, env ? { env } : {}).catch(() => undefined);
}
