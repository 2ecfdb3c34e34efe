import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, stat } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { type Command, ConnectionError, ExecutionNotRunningError } from '@mayfly/sdk';
import { type CliIo, Failure } from '../cli-io.ts';
import { LiveOutput } from '../running/live-output.ts';
import { copiedName } from './location.ts';
import { replaceFile, writeAll } from './replace-file.ts';
import { type Copied, counted, localFailure, outputOf, type Transfer, withScript } from './transfer.ts';
import { unpack } from './unpack.ts';

/** Output that nobody reads fast enough is dropped beyond 64 MiB, so the script waits for a line after each piece, and this many are under way. */
const pieceBytes = 8 * 1024 ** 2;
const piecesUnderWay = 6;
const acknowledgeAttempts = 5;

/** $1 is the source. Prints one line that says what it is, then its content: an archive if it is a folder. */
const sendContent = `
set -o pipefail
exec 3<&0 < /dev/null
paced() { SHELL=/bin/sh split --bytes=${pieceBytes} --filter='cat && read -r _ <&3'; }
if [ -d "$1" ]; then
  stat --dereference --printf 'folder %a\\n' -- "$1" || exit
  tar --create --file=- --format=gnu --hard-dereference --directory "$1" . | paced
else
  stat --dereference --printf 'file %a\\n' -- "$1" || exit
  cat -- "$1" | paced
fi
`;

/**
 * Copies a file or folder of the sandbox to this machine. Returns what was written. Throws a Failure if the source cannot be read or the destination
 * cannot be written.
 */
export async function download(source: string, destination: string, transfer: Transfer): Promise<Copied> {
  return await receive(source, transfer, async ({ type, mode }, content) => {
    try {
      const { path, isTyped } = await targetOf(destination, copiedName(source));
      if (type === 'folder') {
        return await unpack(content, path, { mode, mayBeLink: isTyped, notice: transfer.notice });
      }
      return { files: 1, bytes: await writeFile(path, isTyped, mode, content) };
    } catch (error) {
      throw localFailure(`${destination} could not be written`, error);
    }
  });
}

/** Copies a file of the sandbox to standard output. Returns what was written. */
export async function downloadToStdout(source: string, io: CliIo, transfer: Transfer): Promise<Copied> {
  using output = new LiveOutput(io);
  const stop = AbortSignal.any([transfer.stop, output.broken]);
  return await receive(source, { ...transfer, stop }, async ({ type }, content) => {
    if (type === 'folder') throw new Failure(`${source} is a folder. Only a file can be copied to standard output.`);
    let written = 0;
    for await (const bytes of content) {
      await output.write('stdout', bytes);
      written += bytes.length;
    }
    return { files: 1, bytes: written };
  });
}

interface Announced {
  readonly type: 'file' | 'folder';
  readonly mode: number;
}

async function receive<Result>(
  source: string,
  transfer: Transfer,
  use: (announced: Announced, content: AsyncIterable<Uint8Array>) => Promise<Result>,
): Promise<Result> {
  const { stop, progress, sandbox } = transfer;
  return await withScript(transfer, sendContent, [source], async (command) => {
    await acknowledge(command, piecesUnderWay - 1, stop);
    const output = outputOf(command, stop, `${sandbox.name ?? sandbox.id}:${source} could not be read`);
    const { announced, rest } = await readAnnouncement(output);
    async function* content() {
      let unacknowledged = 0;
      for (let chunk: Uint8Array | undefined = rest; chunk !== undefined; ) {
        yield chunk;
        for (unacknowledged += chunk.length; unacknowledged >= pieceBytes; unacknowledged -= pieceBytes) {
          await acknowledge(command, 1, stop);
        }
        const next: IteratorResult<Uint8Array, void> = await output.next();
        chunk = next.done ? undefined : next.value;
      }
    }
    return await use(announced, counted(content(), progress));
  });
}

/** Lets the script send more pieces. A line too many after a lost connection does no harm. */
async function acknowledge(command: Command, pieces: number, signal: AbortSignal): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await command.write('\n'.repeat(pieces), { signal });
    } catch (error) {
      // The script has sent everything.
      if (error instanceof ExecutionNotRunningError) return;
      if (!(error instanceof ConnectionError) || attempt === acknowledgeAttempts) throw error;
      await pause(500 * attempt, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

async function readAnnouncement(
  output: AsyncGenerator<Uint8Array, void>,
): Promise<{ announced: Announced; rest: Uint8Array }> {
  let read = Buffer.alloc(0);
  for (;;) {
    const end = read.indexOf('\n');
    const [, type, mode] = /^(file|folder) ([0-7]{1,6})$/.exec(read.subarray(0, Math.max(end, 0)).toString()) ?? [];
    if (type !== undefined && mode !== undefined) {
      const announced = { type: type as Announced['type'], mode: Number.parseInt(mode, 8) & 0o777 };
      return { announced, rest: read.subarray(end + 1) };
    }
    const next = end < 0 && read.length < 100 ? await output.next() : undefined;
    if (next === undefined || next.done) throw new Failure('The sandbox did not answer as expected.');
    read = Buffer.concat([read, next.value]);
  }
}

interface Target {
  readonly path: string;
  /** Whether the user typed all of it. Otherwise its last part is a name in the folder that the user typed, where an earlier copy may have put a link. */
  readonly isTyped: boolean;
}

/** Where a copy goes: into the destination if that is a folder, otherwise to the destination itself. */
async function targetOf(destination: string, name: string): Promise<Target> {
  const isFolder = await stat(destination).then(
    (stats) => stats.isDirectory(),
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' && !destination.endsWith('/')) return false;
      throw error;
    },
  );
  if (!isFolder || name === '') return { path: destination, isTyped: true };
  return { path: `${destination.replace(/\/+$/, '')}/${name}`, isTyped: false };
}

/**
 * Writes a file that a sandbox sent. One that exists keeps its mode and owner, and its content until all of the new content has arrived. Returns how many
 * bytes were written.
 */
async function writeFile(
  path: string,
  isTyped: boolean,
  mode: number,
  content: AsyncIterable<Uint8Array>,
): Promise<number> {
  const there = await orMissing(lstat(path));
  if (there === undefined) return await replaceFile(path, content, { mode });
  if (there.isFile()) return await replaceFile(path, content, { mode: there.mode & 0o777, owner: there });
  if (there.isDirectory()) throw new Failure(`${path} is a folder, but the source is a file.`);
  if (there.isSymbolicLink() && !isTyped) return await replaceFile(path, content, { mode });
  if (!isTyped) throw new Failure(`${path} is neither a file nor a folder.`);
  // For example /dev/stdout is a link, but what it leads to cannot be overwritten.
  const leadsTo = there.isSymbolicLink() ? await orMissing(stat(path)) : undefined;
  if (there.isSymbolicLink() && !leadsTo?.isFIFO() && !leadsTo?.isCharacterDevice()) {
    throw new Failure(`${path} is a link. Remove it, or name where it leads.`);
  }
  await using device: FileHandle = await open(path, constants.O_WRONLY);
  return await writeAll(device, content);
}

/** Undefined if there is nothing at the path. */
async function orMissing(stats: Promise<Stats>): Promise<Stats | undefined> {
  return await stats.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}
