import type { OuterResult } from './machine.ts';

/** What an outer machine says about its command. */
export type OuterVerdict =
  | { readonly kind: 'ended'; readonly code: number; readonly reason?: string }
  /** Something failed for which the emulation is to blame, and no test did. */
  | { readonly kind: 'inconclusive'; readonly reason: string };

/** What the lines of an outer machine said so far. */
export interface Observations {
  /** A failure of the emulation. */
  readonly emulationFailure?: string | undefined;
  /** The name of a failed test. */
  readonly failedTest?: string | undefined;
}

/** What it means that the time ran out before the command ended. */
export type OutOfTime = 'failed' | 'inconclusive';

/** Decides what the end of an outer machine says about the suites. */
export function judge(result: OuterResult, seen: Observations, outOfTime: OutOfTime): OuterVerdict {
  if (result.kind === 'exited') return judgeExit(result.code, seen.emulationFailure);
  if (result.kind === 'machine failed') {
    return { kind: 'ended', code: 1, reason: `The outer machine ended without a result. ${result.reason}` };
  }
  const late = 'The outer machine did not finish in time. Allow more with --minutes.';
  if (seen.failedTest !== undefined) {
    return { kind: 'ended', code: 1, reason: `${late} A test had failed: ${seen.failedTest}` };
  }
  return outOfTime === 'failed' ? { kind: 'ended', code: 1, reason: late } : { kind: 'inconclusive', reason: late };
}

/** The signals by which a process ends when it crashes: SIGILL, SIGTRAP, SIGABRT, SIGBUS and SIGSEGV. */
const crashSignals = [4, 5, 6, 7, 11];

/** Failed tests make the command exit with a small code. Under emulation, Node.js itself crashes now and then, in the test runner or in a service. */
function judgeExit(code: number, emulationFailure: string | undefined): OuterVerdict {
  if (crashSignals.includes(code - 128)) {
    return { kind: 'inconclusive', reason: `The command in the outer machine was killed by signal ${code - 128}.` };
  }
  if (code !== 0 && emulationFailure !== undefined) return { kind: 'inconclusive', reason: emulationFailure };
  return { kind: 'ended', code };
}

const maxAttempts = 2;

/** The part of the time limit that must be left for another attempt, which takes most of it. */
const neededShare = 0.75;

/** Whether an inconclusive attempt is repeated. */
export function mayRepeat({ attempt, leftMs, limitMs }: Readonly<Record<'attempt' | 'leftMs' | 'limitMs', number>>) {
  return attempt < maxAttempts && leftMs >= limitMs * neededShare;
}

/**
 * What a line of the outer machine says about a failure of the emulation: a failed check of V8's own, or an emulated KVM on which the guests'
 * kernel does not run, as QEMU's is for several CPUs on some hosts.
 */
export function findEmulationFailure(line: string): string | undefined {
  if (/^\s*# (Fatal error in |Check failed: )/.test(line))
    return `Node.js crashed in the outer machine (${line.trim()}).`;
  const [, reason] = /the guests' kernel does not run on it \((.*?)\)\. /.exec(line) ?? [];
  return reason === undefined ? undefined : `The guests' kernel does not run on the emulated KVM (${reason}).`;
}

/** Begins the line that is printed as soon as a test fails, before the test runner's own report. */
export const failedTestMark = 'FAILED TEST: ';

/** The name of the test whose failure a line reports. */
export function findFailedTest(line: string): string | undefined {
  return line.startsWith(failedTestMark) ? line.slice(failedTestMark.length).trim() : undefined;
}
