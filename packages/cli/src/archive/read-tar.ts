import { Failure } from '../cli-io.ts';

/** One entry of an archive. Its content must be read before the next entry; what is not read is skipped. */
export interface ReadEntry {
  /** `other` is a device, a pipe or something else that is neither file nor folder nor link. */
  readonly type: 'file' | 'folder' | 'link' | 'other';
  readonly name: Buffer;
  /** The permission bits. */
  readonly mode: number;
  readonly bytes: number;
  /** Where a link leads. Empty for others. */
  readonly target: Buffer;
  readonly content: AsyncIterable<Buffer>;
}

const blockBytes = 512;
/** Longer than any path on Linux. */
const maxNameBytes = 64 * 1024;
const types: Readonly<Record<string, ReadEntry['type']>> = { '0': 'file', '\0': 'file', '2': 'link', '5': 'folder' };

/** Reads an archive in the GNU format while it arrives. Throws a Failure if it is malformed or incomplete. */
export async function* readTar(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ReadEntry, void> {
  const source = new ByteSource(chunks);
  let longName: Buffer | undefined;
  let longTarget: Buffer | undefined;
  for (;;) {
    const header = await source.take(blockBytes);
    if (header.every((byte) => byte === 0)) return await source.drain();
    if (!hasValidChecksum(header)) throw malformed();
    const bytes = numberAt(header, 124, 12);
    const padding = (blockBytes - (bytes % blockBytes)) % blockBytes;
    const flag = String.fromCharCode(header[156] ?? 0);
    if (flag === 'L' || flag === 'K') {
      if (bytes > maxNameBytes) throw malformed();
      const text = untilNul(await source.take(bytes));
      await source.take(padding);
      if (flag === 'L') longName = text;
      else longTarget = text;
      continue;
    }
    let left = bytes;
    const content = async function* () {
      while (left > 0) {
        const piece = await source.takeUpTo(left);
        left -= piece.length;
        yield piece;
      }
    };
    yield {
      type: types[flag] ?? 'other',
      name: longName ?? untilNul(header.subarray(0, 100)),
      mode: numberAt(header, 100, 8) & 0o777,
      bytes,
      target: longTarget ?? untilNul(header.subarray(157, 257)),
      content: content(),
    };
    longName = undefined;
    longTarget = undefined;
    while (left > 0) left -= (await source.takeUpTo(left)).length;
    await source.take(padding);
  }
}

/** Cuts a stream of chunks into the pieces that are asked for. */
class ByteSource {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** At least one and at most this many bytes. */
  async takeUpTo(bytes: number): Promise<Buffer> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#chunks.next();
      if (done) throw malformed();
      this.#rest = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
    const taken = this.#rest.subarray(0, bytes);
    this.#rest = this.#rest.subarray(taken.length);
    return taken;
  }

  /** Exactly this many bytes. */
  async take(bytes: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for (let left = bytes; left > 0; ) {
      const piece = await this.takeUpTo(left);
      left -= piece.length;
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  }

  /** Reads the stream to its end, which also reports how it ended. */
  async drain(): Promise<void> {
    while (!(await this.#chunks.next()).done);
  }
}

/** A number of a header: in octal, or in base 256 if its first bit is set. */
function numberAt(header: Buffer, start: number, length: number): number {
  const field = header.subarray(start, start + length);
  if (((field[0] ?? 0) & 0x80) === 0) {
    const text = untilNul(field).toString('latin1').trim();
    if (!/^[0-7]*$/.test(text)) throw malformed();
    return Number.parseInt(text || '0', 8);
  }
  const value = field.subarray(1).reduce((sum, byte) => sum * 256 + byte, (field[0] ?? 0) & 0x7f);
  if (!Number.isSafeInteger(value)) throw malformed();
  return value;
}

/** The sum of all bytes, the checksum itself counted as spaces. */
function hasValidChecksum(header: Buffer): boolean {
  const sum = header.reduce((total, byte, index) => total + (index >= 148 && index < 156 ? 0x20 : byte), 0);
  return numberAt(header, 148, 8) === sum;
}

function untilNul(field: Buffer): Buffer {
  const end = field.indexOf(0);
  return end < 0 ? field : field.subarray(0, end);
}

function malformed(): Failure {
  return new Failure('The sandbox sent an archive that is malformed or incomplete.');
}
