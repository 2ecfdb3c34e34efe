import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { projectRoot } from '../project-root.ts';

/** Exit code of a command that shares this terminal; 128 + signal when it was killed by one. */
export async function runInherited(
  file: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
) {
  const child = spawn(file, args, {
    cwd: options.cwd ?? projectRoot,
    env: options.env ?? process.env,
    stdio: 'inherit',
  });
  // A terminal sends SIGINT to the child itself; SIGTERM reaches only us.
  const ignore = () => {};
  const forward = () => void child.kill('SIGTERM');
  process.on('SIGINT', ignore).on('SIGTERM', forward);
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return code ?? 128 + (signal ? constants.signals[signal] : 0);
  } finally {
    process.off('SIGINT', ignore).off('SIGTERM', forward);
  }
}
