import { type FileHandle, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Command, ConnectionError, ExecutionNotRunningError } from '@mayfly/sdk';
import { type CliIo, Failure } from '../cli-io.ts';
import { LiveOutput } from '../running/live-output.ts';
import { copiedName } from './location.ts';
import { counted, localFailure, outputOf, type Transfer, withScript } from './transfer.ts';
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

/** Copies a file or folder of the sandbox to this machine. Throws a Failure if the source cannot be read or the destination cannot be written. */
export async function download(source: string, destination: string, transfer: Transfer): Promise<void> {
  await receive(source, transfer, async ({ type, mode }, content) => {
    const cannotWrite = `${destination} could not be written`;
    try {
      const target = await targetOf(destination, copiedName(source));
      if (type === 'folder') await unpack(content, target, { mode, notice: transfer.notice });
      else await writeFile(target, mode, content);
    } catch (error) {
      throw localFailure(cannotWrite, error);
    }
  });
}

/** Copies a file of the sandbox to standard output. */
export async function downloadToStdout(source: string, io: CliIo, transfer: Transfer): Promise<void> {
  using output = new LiveOutput(io);
  const stop = AbortSignal.any([transfer.stop, output.broken]);
  await receive(source, { ...transfer, stop }, async ({ type }, content) => {
    if (type === 'folder') throw new Failure(`${source} is a folder. Only a file can be copied to standard output.`);
    for await (const bytes of content) await output.write('stdout', bytes);
  });
}

interface Announced {
  readonly type: 'file' | 'folder';
  readonly mode: number;
}

async function receive(
  source: string,
  transfer: Transfer,
  use: (announced: Announced, content: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<void> {
  const { stop, progress, sandbox } = transfer;
  await withScript(transfer, sendContent, [source], async (command) => {
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
    await use(announced, counted(content(), progress));
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
      await pause(500 * attempt, undefined, { signal });
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

/** Where a copy goes: into the destination if that is a folder, otherwise to the destination itself. */
async function targetOf(destination: string, name: string): Promise<string> {
  const isFolder = await stat(destination).then(
    (stats) => stats.isDirectory(),
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' && !destination.endsWith('/')) return false;
      throw error;
    },
  );
  return isFolder && name !== '' ? join(destination, name) : destination;
}

async function writeFile(path: string, mode: number, content: AsyncIterable<Uint8Array>): Promise<void> {
  const isNew = await stat(path).then(
    () => false,
    () => true,
  );
  await using file: FileHandle = await open(path, 'w', 0o600);
  for await (const bytes of content) await writeAll(file, bytes);
  if (isNew) await file.chmod(mode);
}

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let start = 0; start < bytes.length; ) start += (await file.write(bytes, start)).bytesWritten;
}
