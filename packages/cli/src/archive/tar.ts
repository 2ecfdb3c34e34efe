import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { Failure } from '../cli-io.ts';

interface Entries<Name> {
  readonly folder: { readonly type: 'folder'; readonly name: Name; readonly mode: number };
  readonly link: { readonly type: 'link'; readonly name: Name; readonly target: Name };
  readonly file: {
    readonly type: 'file';
    readonly name: Name;
    readonly mode: number;
    readonly bytes: number;
    /** Where the content is on this machine. */
    readonly path: Name;
  };
}

/** What an archive holds. Names are relative, with `/`. */
export type TarEntry = Entries<string>[keyof Entries<string>];
/** Likewise, with names that may be bytes which are not UTF-8. */
export type ByteEntry = Entries<string | Buffer>[keyof Entries<string>];

const blockBytes = 512;
const chunkBytes = 256 * 1024;
/** What the field of a header can say. */
const maxHeaderBytes = 0o77777777777;
const typeFlags = { file: '0', link: '2', folder: '5', extended: 'x' } as const;

/** An archive in the POSIX pax format. The same names, contents, modes and targets make the same bytes: times and owners are not in it. */
export async function* tarOf(entries: Iterable<ByteEntry> | AsyncIterable<ByteEntry>): AsyncGenerator<Buffer> {
  for await (const entry of entries) {
    const target = entry.type === 'link' ? entry.target : '';
    const bytes = entry.type === 'file' ? entry.bytes : 0;
    const extended = [
      ...(Buffer.byteLength(entry.name) > 99 ? [extendedRecord('path', entry.name)] : []),
      ...(Buffer.byteLength(target) > 99 ? [extendedRecord('linkpath', target)] : []),
      ...(bytes > maxHeaderBytes ? [extendedRecord('size', String(bytes))] : []),
    ];
    if (extended.length > 0) {
      const records = Buffer.concat(extended);
      yield header({ name: 'pax', mode: 0o644, bytes: records.length, flag: typeFlags.extended, target: '' });
      yield padded(records);
    }
    const mode = entry.type === 'link' ? 0o777 : entry.mode;
    yield header({ name: entry.name, mode, bytes, flag: typeFlags[entry.type], target });
    if (entry.type === 'file') yield* contentOf(entry.path, bytes);
  }
  yield Buffer.alloc(2 * blockBytes);
}

async function* contentOf(path: string | Buffer, bytes: number): AsyncGenerator<Buffer> {
  const changed = () => new Failure(`${String(path)} changed while it was read. Try again.`);
  await using file = await openFile(path);
  if ((await file.stat()).size !== bytes) throw changed();
  let left = bytes;
  while (left > 0) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(left, chunkBytes)));
    if (bytesRead === 0) throw changed();
    left -= bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
  if (bytes % blockBytes > 0) yield Buffer.alloc(blockBytes - (bytes % blockBytes));
}

/** A file that became a link since it was found is not followed, and a pipe is not waited for. */
async function openFile(path: string | Buffer): Promise<FileHandle> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (cause) {
    throw new Failure(`${String(path)} could not be read: ${cause instanceof Error ? cause.message : String(cause)}.`, {
      cause,
      exitCode: 2,
    });
  }
}

interface Header {
  readonly name: string | Buffer;
  readonly mode: number;
  readonly bytes: number;
  readonly flag: string;
  readonly target: string | Buffer;
}

function header({ name, mode, bytes, flag, target }: Header): Buffer {
  const block = Buffer.alloc(blockBytes);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  bytesOf(name).copy(block, 0, 0, 99);
  block.write(octal(mode, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(Math.min(bytes, maxHeaderBytes), 11), 124);
  block.write(octal(0, 11), 136);
  block.write(' '.repeat(8), 148);
  block.write(flag, 156);
  bytesOf(target).copy(block, 157, 0, 99);
  block.write('ustar\x0000', 257);
  block.write(
    octal(
      block.reduce((sum, byte) => sum + byte, 0),
      6,
    ),
    148,
  );
  return block;
}

/** A record of an extended header begins with its own length in decimal. */
function extendedRecord(key: string, value: string | Buffer): Buffer {
  const rest = Buffer.concat([Buffer.from(` ${key}=`), bytesOf(value), Buffer.from('\n')]);
  let length = rest.length + String(rest.length).length;
  if (rest.length + String(length).length !== length) length = rest.length + String(length).length;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}

function padded(content: Buffer): Buffer {
  return Buffer.concat([content, Buffer.alloc((blockBytes - (content.length % blockBytes)) % blockBytes)]);
}

function bytesOf(name: string | Buffer): Buffer {
  return typeof name === 'string' ? Buffer.from(name) : name;
}
