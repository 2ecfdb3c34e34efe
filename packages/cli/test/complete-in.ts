import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Shell } from '../src/completion/scripts.ts';
import { mayflyInProcess } from './mayfly.ts';

/** The lines that a program of a shell prints. It is called with the path of the shell's completion script and with words. */
export async function completeIn(shell: Shell, args: readonly string[], words: readonly string[]): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-completion-'));
  try {
    const script = join(folder, 'script');
    writeFileSync(script, (await mayflyInProcess(['completion', shell])).stdout);
    const env = { ...process.env, HOME: folder };
    const printed = execFileSync(shell, [...args, script, ...words], { encoding: 'utf8', env, timeout: 60_000 });
    return printed.trim().split('\n');
  } finally {
    rmSync(folder, { recursive: true });
  }
}
