import { Readable } from 'node:stream';
import type { File } from '@mayfly/contract';
import type { FileRecord } from '../../core/files/sandbox-files.ts';

/** A multiple of three, so that the chunks' base64 texts join into one. */
const defaultChunkBytes = 98_304;

/**
 * The JSON of a file with its content: a string if the file is small, otherwise a stream that encodes one chunk at a time as the
 * client reads. See docs/decisions/http-fast-paths.md for what that saves.
 */
export function fileJson(file: FileRecord, chunkBytes = defaultChunkBytes): string | Readable {
  const { path, encoding, content } = file;
  const fields = { object: 'file', path, bytes: content.length, encoding } as const;
  if (content.length <= chunkBytes) {
    return JSON.stringify({ ...fields, content: content.toString(encoding) } satisfies File);
  }
  return Readable.from(chunksOf(JSON.stringify(fields), file, chunkBytes), { objectMode: false });
}

function* chunksOf(fieldsJson: string, { encoding, content }: FileRecord, chunkBytes: number): Generator<Buffer> {
  yield Buffer.from(`${fieldsJson.slice(0, -1)},"content":"`);
  for (let start = 0; start < content.length; ) {
    const end = encoding === 'utf8' ? characterStart(content, start + chunkBytes) : start + chunkBytes;
    const text = content.toString(encoding, start, end);
    yield encoding === 'utf8' ? Buffer.from(JSON.stringify(text).slice(1, -1)) : Buffer.from(text, 'latin1');
    start = end;
  }
  yield Buffer.from('"}');
}

/** The last position up to `limit` at which a UTF-8 character starts. */
function characterStart(content: Buffer, limit: number): number {
  let position = limit;
  while (((content[position] ?? 0) & 0xc0) === 0x80) position -= 1;
  return position;
}
