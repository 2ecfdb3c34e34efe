import type { File, FileEncoding } from '@mayfly/contract';
import { uncountedBytes } from '../../core/budgets/held-result.ts';
import type { FileRecord } from '../../core/files/sandbox-files.ts';
import { type ResponseJson, streamPieces } from './json-pieces.ts';

/** How much of a file is encoded at once. For base64 a multiple of three, so that the pieces join into one. */
const defaultPieceBytes: Readonly<Record<FileEncoding, number>> = { base64: 98_304, utf8: 32_768 };

/**
 * The JSON of a file with its content: a string if the file is small, otherwise a stream that encodes one piece at a time as the
 * client reads. See docs/decisions/http-fast-paths.md for what that saves.
 */
export function fileJson(file: FileRecord, pieceBytes: number = defaultPieceBytes[file.encoding]): ResponseJson {
  const { path, encoding, content } = file;
  const fields = { object: 'file', path, bytes: content.length, encoding } as const;
  if (content.length <= Math.min(pieceBytes, uncountedBytes)) {
    return JSON.stringify({ ...fields, content: content.toString(encoding) } satisfies File);
  }
  return streamPieces(piecesOf(JSON.stringify(fields), file, pieceBytes));
}

function* piecesOf(fieldsJson: string, { encoding, content }: FileRecord, pieceBytes: number): Generator<string> {
  yield `${fieldsJson.slice(0, -1)},"content":"`;
  for (let start = 0; start < content.length; ) {
    const end = encoding === 'utf8' ? characterStart(content, start + pieceBytes) : start + pieceBytes;
    const text = content.toString(encoding, start, end);
    yield encoding === 'utf8' ? JSON.stringify(text).slice(1, -1) : text;
    start = end;
  }
  yield '"}';
}

/** The last position up to `limit` at which a UTF-8 character starts. */
function characterStart(content: Buffer, limit: number): number {
  let position = limit;
  while (((content[position] ?? 0) & 0xc0) === 0x80) position -= 1;
  return position;
}
