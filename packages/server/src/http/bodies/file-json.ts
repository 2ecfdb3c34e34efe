import { Readable } from 'node:stream';
import type { File } from '@mayfly/contract';
import type { FileRecord } from '../../core/files/read.ts';

/** A multiple of three, so that pieces of base64 fit together. */
const defaultPieceBytes = 98_304;

/** A file with its content as JSON: a text if it is small, else a stream that makes it piece by piece, at its reader's pace. */
export function fileJson(file: FileRecord, pieceBytes = defaultPieceBytes): string | Readable {
  const { path, encoding, content } = file;
  const shown = { object: 'file', path, bytes: content.length, encoding } as const;
  if (content.length <= pieceBytes) {
    return JSON.stringify({ ...shown, content: content.toString(encoding) } satisfies File);
  }
  return Readable.from(pieces(JSON.stringify(shown), file, pieceBytes), { objectMode: false });
}

function* pieces(shown: string, { encoding, content }: FileRecord, pieceBytes: number): Generator<Buffer> {
  yield Buffer.from(`${shown.slice(0, -1)},"content":"`);
  for (let from = 0; from < content.length; ) {
    const end = encoding === 'utf8' ? characterEnd(content, from + pieceBytes) : from + pieceBytes;
    const text = content.toString(encoding, from, end);
    yield encoding === 'utf8' ? Buffer.from(JSON.stringify(text).slice(1, -1)) : Buffer.from(text, 'latin1');
    from = end;
  }
  yield Buffer.from('"}');
}

/** The last place up to here that is not inside a character. */
function characterEnd(content: Buffer, limit: number): number {
  let end = limit;
  while (((content[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return end;
}
