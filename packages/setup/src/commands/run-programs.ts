import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { join } from 'node:path';
import { type Announcer, formatElapsed } from '../announce.ts';
import { projectRoot } from '../environment.ts';

/** A program that passes with exit code 0. */
export interface Check {
  readonly title: string;
  readonly program: string;
  readonly args: readonly string[];
  /** The checkout when absent. */
  readonly cwd?: string;
  /** Variables beside the ones that all checks have. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface CheckOptions {
  readonly announcer: Announcer;
  readonly env: NodeJS.ProcessEnv;
}

const checksAtOnce = 2;

/**
 * Runs all checks, two at a time, and prints what each of them wrote when it ends. Returns the titles of those that failed, in the given order.
 * A signal ends the checks and this process.
 */
export async function runSideBySide(
  checks: readonly Check[],
  { announcer, env }: CheckOptions,
): Promise<readonly string[]> {
  const waiting = [...checks];
  const failed = new Set<Check>();
  const running = new Set<ChildProcess>();
  let interruption: NodeJS.Signals | undefined;
  const runInTurn = async () => {
    for (let check = waiting.shift(); check; check = waiting.shift()) {
      const startedMs = performance.now();
      announcer.line(`▸ ${check.title}`);
      const { code, output } = await runCollecting(check, env, running);
      announcer.line(`${describeEnd(check, code, startedMs)}${output && `\n${output}`}`);
      if (code !== 0) failed.add(check);
    }
  };
  {
    using _forwarding = forwardSignals(running, (signal) => {
      interruption = signal;
      waiting.length = 0;
    });
    await Promise.all(Array.from({ length: checksAtOnce }, runInTurn));
  }
  if (interruption) process.kill(process.pid, interruption);
  return checks.filter((check) => failed.has(check)).map(({ title }) => title);
}

/**
 * Runs a check on this terminal and, beside it, another whose output is printed when it ends. Returns the exit code of the first, or 1 if
 * only the second failed.
 */
export async function runBeside(first: Check, second: Check, options: CheckOptions): Promise<number> {
  const [code, failed] = await Promise.all([runAlone(first, options), runSideBySide([second], options)]);
  return code === 0 && failed.length > 0 ? 1 : code;
}

/** Runs a check on this terminal and returns its exit code. */
export async function runAlone(check: Check, { announcer, env }: CheckOptions): Promise<number> {
  const startedMs = performance.now();
  announcer.line(`▸ ${check.title}`);
  const { program, args, cwd } = check;
  const code = await runInherited(program, args, { env: { ...env, ...check.env }, ...(cwd && { cwd }) });
  announcer.line(describeEnd(check, code, startedMs));
  return code;
}

/** Runs a program on this terminal and returns its exit code; 128 + signal when a signal killed it. */
export async function runInherited(
  program: string,
  args: readonly string[],
  { cwd = projectRoot, env = process.env }: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<number> {
  const child = spawn(program, args, { cwd, env, stdio: 'inherit' });
  using _forwarding = forwardSignals([child]);
  return exitCode((await once(child, 'exit')) as ExitArguments);
}

/** Path of a program that npm installed into the checkout. */
export function localProgram(name: string): string {
  return join(projectRoot, 'node_modules/.bin', name);
}

type ExitArguments = [code: number | null, signal: NodeJS.Signals | null];

function exitCode([code, signal]: ExitArguments): number {
  return code ?? 128 + (signal ? constants.signals[signal] : 0);
}

async function runCollecting(
  { program, args, cwd = projectRoot, env }: Check,
  allEnv: NodeJS.ProcessEnv,
  running: Set<ChildProcess>,
): Promise<{ readonly code: number; readonly output: string }> {
  const child = spawn(program, args, { cwd, env: { ...allEnv, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  running.add(child);
  try {
    const code = exitCode((await once(child, 'close')) as ExitArguments);
    return { code, output: output.trim() };
  } catch (error) {
    return { code: 127, output: error instanceof Error ? error.message : String(error) };
  } finally {
    running.delete(child);
  }
}

function describeEnd({ title }: Check, code: number, startedMs: number): string {
  const elapsed = formatElapsed(performance.now() - startedMs);
  return code === 0 ? `✓ ${title} … ${elapsed}` : `✗ ${title} … ${elapsed}, exit code ${code}`;
}

/** Passes signals on to the children until it is disposed, and reports them. */
function forwardSignals(children: Iterable<ChildProcess>, report?: (signal: NodeJS.Signals) => void): Disposable {
  const forward = (signal: NodeJS.Signals) => {
    report?.(signal);
    // A terminal sends Ctrl-C to the programs itself.
    if (signal === 'SIGINT' && process.stdin.isTTY) return;
    for (const child of children) child.kill(signal);
  };
  process.on('SIGINT', forward).on('SIGTERM', forward).on('SIGHUP', forward);
  return {
    [Symbol.dispose]: () => void process.off('SIGINT', forward).off('SIGTERM', forward).off('SIGHUP', forward),
  };
}
