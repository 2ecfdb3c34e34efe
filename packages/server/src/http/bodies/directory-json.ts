import type { Directory } from '@mayfly/contract';
import type { DirectoryRecord } from '../../core/files/sandbox-files.ts';
import type { GuestEntry } from '../../core/ports/guest-agent.ts';
import { type ResponseJson, streamPieces } from './json-pieces.ts';

/** Entries that are encoded at once: with the longest names at most 100 kB of JSON. */
const defaultPieceEntries = 64;

/** The JSON of a directory listing. Devices, sockets and pipes appear as files without a size. */
export function directoryJson(
  { path, entries }: DirectoryRecord,
  pieceEntries: number = defaultPieceEntries,
): ResponseJson {
  if (entries.length <= pieceEntries) {
    return JSON.stringify({ object: 'list', path, entries: entries.map(entryView) } satisfies Directory);
  }
  function* pieces(): Generator<string> {
    yield `{"object":"list","path":${JSON.stringify(path)},"entries":[`;
    for (let start = 0; start < entries.length; start += pieceEntries) {
      const json = JSON.stringify(entries.slice(start, start + pieceEntries).map(entryView)).slice(1, -1);
      yield start === 0 ? json : `,${json}`;
    }
    yield ']}';
  }
  return streamPieces(pieces());
}

function entryView({ name, type, sizeBytes }: GuestEntry): Directory['entries'][number] {
  return {
    name: name.toString('utf8'),
    type: type === 'other' ? 'file' : type,
    size_bytes: type === 'file' ? sizeBytes : null,
  };
}
