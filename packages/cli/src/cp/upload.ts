import { createReadStream } from 'node:fs';
import { lstat, readdir, readlink, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { type ByteEntry, tarOf } from '../archive/tar.ts';
import { usageFailure } from '../cli-io.ts';
import { sendStdin } from '../running/stdin.ts';
import { copiedName } from './location.ts';
import { type Copied, counted, localFailure, outputOf, type Transfer, withScript } from './transfer.ts';

/** $1 is the destination, $2 the name in an existing folder, $3 the mode of a new file. */
const receiveFile = `
dst=$1
if [ -d "$dst" ]; then
  [ -n "$2" ] || { echo 'it is a folder' >&2; exit 1; }
  dst=\${dst%/}/$2
else
  case $dst in */*) mkdir -p -- "\${dst%/*}/" || exit ;; esac
  case $dst in */) dst=$dst$2 ;; esac
fi
[ -e "$dst" ] || new=1
cat > "$dst" || exit
[ -z "$new" ] || [ -z "$3" ] || chmod "$3" -- "$dst"
`;

/** $1 is the destination, $2 the name in an existing folder, $3 the mode of a new folder. */
const receiveFolder = `
dst=$1
[ -z "$2" ] || [ ! -d "$dst" ] || dst=\${dst%/}/$2
[ -d "$dst" ] || new=1
mkdir -p -- "$dst" || exit
tar --extract --file=- --touch --no-same-owner --preserve-permissions --keep-directory-symlink --no-overwrite-dir --directory "$dst" || exit
[ -z "$new" ] || chmod "$3" -- "$dst"
`;

/**
 * Copies a file or folder of this machine into the sandbox. Returns what was sent. Throws a Failure if the source cannot be read or the destination
 * cannot be written.
 */
export async function upload(source: string, destination: string, transfer: Transfer): Promise<Copied> {
  const cannotRead = `${source} could not be read`;
  try {
    const stats = await stat(source);
    const name = copiedName(source);
    const mode = (stats.mode & 0o777).toString(8);
    if (stats.isDirectory()) {
      const copied = { files: 0, bytes: 0 };
      const entries = entriesOf(Buffer.from(source), Buffer.alloc(0), transfer.notice);
      await send(tarOf(tallied(entries, copied)), receiveFolder, [destination, name, mode], transfer);
      return copied;
    }
    const bytes = await send(createReadStream(source), receiveFile, [destination, name, mode], transfer);
    return { files: 1, bytes };
  } catch (error) {
    throw localFailure(cannotRead, error);
  }
}

/** Copies standard input into a file of the sandbox. Returns what was sent. */
export async function uploadStdin(
  stdin: Readable | undefined,
  destination: string,
  transfer: Transfer,
): Promise<Copied> {
  if (stdin === undefined) throw usageFailure('There is no standard input to copy.');
  return { files: 1, bytes: await send(stdin, receiveFile, [destination, '', ''], transfer) };
}

/** Returns how many bytes were sent. */
async function send(
  chunks: AsyncIterable<Buffer>,
  script: string,
  args: readonly string[],
  transfer: Transfer,
): Promise<number> {
  const { stop, progress, sandbox } = transfer;
  await withScript(transfer, script, args, async (command) => {
    const ended = new AbortController();
    const source = Readable.from(counted(chunks, progress), { highWaterMark: 2 });
    const receiving = (async () => {
      const failure = `${sandbox.name ?? sandbox.id}:${args[0]} could not be written`;
      for await (const _ of outputOf(command, stop, failure));
    })().finally(() => ended.abort());
    const sending = sendStdin(command, source, AbortSignal.any([stop, ended.signal]));
    try {
      // What cannot be read here fails at once; what cannot be written there is what the script says.
      await Promise.all([sending, receiving]);
    } finally {
      source.destroy();
      receiving.catch(() => {});
    }
  });
  return progress.bytes;
}

/** Adds up the files that pass. */
async function* tallied(
  entries: AsyncIterable<ByteEntry>,
  copied: { files: number; bytes: number },
): AsyncGenerator<ByteEntry, void> {
  for await (const entry of entries) {
    if (entry.type === 'file') {
      copied.files += 1;
      copied.bytes += entry.bytes;
    }
    yield entry;
  }
}

/** Everything below a folder, each folder before what is in it. Names are bytes: Linux allows any. */
async function* entriesOf(
  folder: Buffer,
  prefix: Buffer,
  notice: (message: string) => void,
): AsyncGenerator<ByteEntry, void> {
  const slash = Buffer.from('/');
  for (const child of (await readdir(folder, { encoding: 'buffer' })).sort((one, other) =>
    Buffer.compare(one, other),
  )) {
    const path = Buffer.concat([folder, slash, child]);
    const name = prefix.length === 0 ? child : Buffer.concat([prefix, slash, child]);
    const stats = await lstat(path);
    const mode = stats.mode & 0o777;
    if (stats.isDirectory()) {
      yield { type: 'folder', name, mode };
      yield* entriesOf(path, name, notice);
    } else if (stats.isSymbolicLink()) {
      yield { type: 'link', name, target: await readlink(path, { encoding: 'buffer' }) };
    } else if (stats.isFile()) yield { type: 'file', name, mode, bytes: stats.size, path };
    else notice(`${String(path)} was left out: it is neither a file nor a folder nor a link.`);
  }
}
