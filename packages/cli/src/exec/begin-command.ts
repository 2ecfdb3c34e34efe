import { randomUUID } from 'node:crypto';
import type { CommandLine, Sandbox, SpawnOptions, Terminal } from '@mayfly/sdk';
import { quote } from '../quote.ts';

/**
 * Prepares a command that runs on a terminal in place of its shell, and returns what begins it there. The service opens terminals with a login shell only:
 * the command is written into a file that the shell reads. What the shell prints before the command begins is not shown.
 */
export async function prepareCommand(
  sandbox: Sandbox,
  command: CommandLine,
  { cwd, env = {}, signal }: SpawnOptions,
): Promise<(terminal: Terminal) => (bytes: Uint8Array) => Uint8Array> {
  const id = randomUUID();
  const path = `/tmp/mayfly-exec-${id}`;
  const marker = `mayfly-begins-${id}`;
  const words =
    typeof command === 'string' ? ['bash', '-c', command] : ['bash', '-c', 'exec -- "$@"', 'bash', ...command];
  const lines = [
    `rm -f -- ${path}`,
    // First of what can fail, so that the reason is shown.
    `printf %s ${marker}`,
    ...(cwd === undefined ? [] : [`cd -- ${quote(cwd)} || exit 125`]),
    ...Object.entries(env).map(([name, value]) => `export ${name}=${quote(value)}`),
    `exec ${words.map((word) => quote(String(word))).join(' ')}`,
  ];
  await sandbox.files.write(path, `${lines.join('\n')}\n`, { signal });
  return (terminal) => {
    terminal.write(` . ${path}\r`);
    return afterMarker(Buffer.from(marker));
  };
}

/** Leaves out everything up to the marker. */
function afterMarker(marker: Buffer): (bytes: Uint8Array) => Uint8Array {
  let before: Buffer | undefined = Buffer.alloc(0);
  return (bytes) => {
    if (before === undefined) return bytes;
    before = Buffer.concat([before, bytes]);
    const start = before.indexOf(marker);
    if (start < 0) {
      before = before.subarray(-marker.length);
      return Buffer.alloc(0);
    }
    const rest = before.subarray(start + marker.length);
    before = undefined;
    return rest;
  };
}
