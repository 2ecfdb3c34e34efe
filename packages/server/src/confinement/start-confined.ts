import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { Writable } from 'node:stream';
import type { ConfinementSpec } from './spec.ts';

/** The descriptor on which mayfly-jail reads the document. Unlike an argument it is visible to nobody; it holds secrets. */
const documentFd = 3;

/** What mayfly-jail exits with when it could not start the program; its last line on stderr says why. */
export const notStartedCode = 111;

/** The standard streams of a confined process. */
export interface ConfinedStreams {
  /** What it reads; nothing when absent. */
  readonly stdin?: string;
  readonly stdout?: 'inherit' | 'pipe' | 'ignore';
  readonly stderr?: 'inherit' | 'pipe' | 'ignore';
}

/**
 * Starts one of Mayfly's own processes through mayfly-jail. SIGTERM, SIGINT and SIGHUP to the returned process reach the confined one; when the
 * returned process is killed, the confined one is killed too. Its exit code is the confined one's, or 128 + the signal that ended that one.
 */
export function startConfined(
  jailPath: string,
  spec: ConfinementSpec,
  { stdin, stdout = 'inherit', stderr = 'inherit' }: ConfinedStreams = {},
): ChildProcess {
  const stdio: StdioOptions = [stdin === undefined ? 'ignore' : 'pipe', stdout, stderr, 'pipe'];
  // Detached from the terminal's process group: Ctrl-C is for the supervisor, which stops its processes in order.
  const child = spawn(jailPath, ['confine', String(documentFd)], { stdio, env: {}, detached: true });
  child.stdin?.on('error', () => {}).end(stdin);
  const document = child.stdio[documentFd];
  if (!(document instanceof Writable)) throw new Error('mayfly-jail has no pipe for its document');
  // If it ends before it has read everything, its exit code and stderr say why.
  document.on('error', () => {}).end(JSON.stringify(spec));
  return child;
}
