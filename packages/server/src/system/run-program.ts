import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';

export interface RunProgramOptions {
  readonly cwd?: string;
  /** The program's whole environment; this process's own when absent. */
  readonly env?: NodeJS.ProcessEnv;
  /** Written to the program's standard input. */
  readonly input?: string;
  /** Kills the program and everything it started after this time. No limit when absent. */
  readonly deadlineMs?: number;
  /** Ends the program and everything it started. */
  readonly signal?: AbortSignal;
  /** Called with each line of output as it arrives. */
  readonly onLine?: (line: string) => void;
}

/** A program that could not be started, failed or ran out of time. The message holds its last lines of output. */
export class ProgramFailed extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ProgramFailed';
  }
}

const keptLines = 25;
/** Between asking a program to end and killing it. */
const killAfterMs = 5_000;

/** Runs a program of the host and returns its standard output. Throws ProgramFailed unless it exits with code 0. */
export async function runProgram(
  program: string,
  args: readonly string[],
  options: RunProgramOptions = {},
): Promise<string> {
  const { cwd, env = process.env, input = '', deadlineMs, signal } = options;
  signal?.throwIfAborted();
  // A process group of its own, so that the program and everything it started can be ended together.
  const child = spawn(program, args, { cwd, env, stdio: 'pipe', detached: true });
  const output = collectLines(options.onLine);
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    output.add(text);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => output.add(text));
  child.stdin.on('error', () => {}).end(input);

  let killTimer: NodeJS.Timeout | undefined;
  const endGently = (): void => {
    signalGroup(child, 'SIGTERM');
    killTimer = setTimeout(() => signalGroup(child, 'SIGKILL'), killAfterMs);
  };
  let expired = false;
  const expire = (): void => {
    expired = true;
    signalGroup(child, 'SIGKILL');
    // Once the program itself has ended, its pipes are closed, which a process that left the group may hold.
    child.once('exit', () => signalGroup(child, 'SIGKILL'));
  };
  signal?.addEventListener('abort', endGently);
  const deadline = deadlineMs === undefined ? undefined : setTimeout(expire, deadlineMs);
  try {
    const end = await new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
      child.once('error', (cause) => {
        reject(new ProgramFailed(`${program} could not be started: ${cause.message}`, { cause }));
      });
      child.once('close', (code, killedBy) => resolve({ code, signal: killedBy }));
    });
    signal?.throwIfAborted();
    if (end.code === 0) return stdout;
    const reason = expired
      ? `did not finish within ${deadlineMs} ms`
      : end.code === null
        ? `was killed by ${end.signal}`
        : `failed with exit code ${end.code}`;
    throw new ProgramFailed(`${program} ${reason}${output.tail()}`);
  } finally {
    clearTimeout(deadline);
    clearTimeout(killTimer);
    signal?.removeEventListener('abort', endGently);
  }
}

/** Keeps the last lines of a program's output for an error message. */
function collectLines(onLine: ((line: string) => void) | undefined) {
  const kept: string[] = [];
  let unfinished = '';
  const keep = (line: string): void => {
    if (line.trim() === '') return;
    kept.push(line);
    if (kept.length > keptLines) kept.shift();
    onLine?.(line.trim());
  };
  return {
    add(text: string): void {
      const lines = (unfinished + text).split(/[\r\n]+/);
      unfinished = lines.pop() ?? '';
      for (const line of lines) keep(line);
    },
    tail(): string {
      keep(unfinished);
      if (kept.length === 0) return '.';
      if (kept.length === 1) return `: ${kept[0]?.trim()}`;
      return [`. Its last output:`, ...kept.map((line) => `  ${line}`)].join('\n');
    },
  };
}

/**
 * Signals the program's process group. Once the program itself has exited, its id may belong to another process, so only its pipes are
 * closed: whatever it left behind is not waited for.
 */
function signalGroup(child: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  if (child.exitCode !== null || child.signalCode !== null) {
    child.stdout.destroy();
    child.stderr.destroy();
    return;
  }
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group is gone already.
  }
}

/** The folders in which a program is looked up. */
const programFolders = ['/usr/local/bin', '/usr/bin', '/usr/local/sbin', '/usr/sbin'];

/** Finds the absolute path of a program. Throws when it is not installed. */
export async function findProgram(name: string): Promise<string> {
  const candidates = isAbsolute(name) ? [name] : programFolders.map((folder) => join(folder, name));
  for (const path of candidates) {
    const isExecutable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isExecutable) return path;
  }
  const where = programFolders.join(', ');
  throw new Error(`${name} was not found in ${where}. Run npm start as root to install missing programs.`);
}
