import { spawn } from 'node:child_process';
import { z } from 'zod';
import { ProgramFailed } from '../../../system/run-program.ts';

/** A file that mayfly-ram gets as an inherited descriptor. */
interface ToolFile {
  /** The option that names the descriptor, e.g. "--ram". */
  readonly option: string;
  readonly fd: number;
}

export interface ToolRun {
  /** native/ram. */
  readonly ramPath: string;
  readonly command: 'plan' | 'extract';
  readonly files: readonly ToolFile[];
  /** Further arguments. */
  readonly argv: readonly string[];
  /** The user it runs under; the one of this process when absent. What QEMU wrote is read under the user of its machine. */
  readonly user?: { readonly uid: number; readonly gid: number };
  readonly deadlineMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** mayfly-ram ended with this exit code. */
export class ToolFailed extends ProgramFailed {
  readonly code: number | null;

  constructor(message: string, code: number | null) {
    super(message);
    this.code = code;
  }
}

/** The exit code of mayfly-ram when the disk is full. */
export const noSpaceCode = 3;

/** The first descriptor after standard input, output and error. */
const firstFd = 3;

/** The program prints one line. */
const maxOutputChars = 16_384;

/**
 * Runs mayfly-ram, which opens no files itself, and returns its standard output. Throws ProgramFailed when it fails or takes too long, and the
 * signal's reason when aborted. No process is left.
 */
export async function runRamTool({
  ramPath,
  command,
  files,
  argv,
  user,
  deadlineMs,
  signal,
}: ToolRun): Promise<string> {
  signal?.throwIfAborted();
  const options = files.flatMap(({ option }, at) => [option, String(firstFd + at)]);
  const child = spawn(ramPath, [command, ...options, ...argv], {
    stdio: ['ignore', 'pipe', 'pipe', ...files.map(({ fd }) => fd)],
    cwd: '/',
    env: {},
    ...user,
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      output[name] = (output[name] + text).slice(0, maxOutputChars);
    });
  }
  let expired = false;
  const timer = setTimeout(() => {
    expired = true;
    child.kill('SIGKILL');
  }, deadlineMs);
  const abort = (): void => void child.kill('SIGKILL');
  signal?.addEventListener('abort', abort);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', (cause) => {
        reject(new ProgramFailed(`${ramPath} could not be started: ${cause.message}`, { cause }));
      });
      child.once('close', resolve);
    });
    signal?.throwIfAborted();
    if (code === 0) return output.stdout;
    if (expired) throw new ProgramFailed(`${ramPath} ${command} did not finish within ${deadlineMs} ms.`);
    throw new ToolFailed(`${ramPath} ${command} failed: ${output.stderr.trim() || `exit code ${code}`}`, code);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

const count = z.int().nonnegative();
const extracted = z.object({
  /** What the new layer of RAM holds. */
  stored_bytes: count,
  changed_pages: count,
  extents: count,
  kept_layers: count,
});

/** What `extract` says about the layer that it wrote. */
export type Extracted = z.infer<typeof extracted>;

/** Parses the line that `extract` prints. */
export function parseExtracted(output: string): Extracted {
  return extracted.parse(JSON.parse(output));
}
