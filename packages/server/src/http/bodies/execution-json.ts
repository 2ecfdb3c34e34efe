import type { Execution } from '@mayfly/contract';
import { uncountedBytes } from '../../core/budgets/held-result.ts';
import { outputBytes } from '../../core/executions/execution-records.ts';
import { decodeOutput } from '../../core/executions/outcome.ts';
import type { ExecutionRecord } from '../../core/ports/store/execution-store.ts';
import { executionSummaryView } from '../views.ts';
import { type ResponseJson, streamPieces } from './json-pieces.ts';

/** Output that is escaped at once: at most six times as much JSON. */
const pieceBytes = 32_768;

/** The JSON of an execution with its output as text. `captureBytes` is how much of each stream is stored at most. */
export function executionJson(record: ExecutionRecord, captureBytes: number): ResponseJson {
  const summary = executionSummaryView(record);
  const isCut = (bytes: Uint8Array) => record.truncated && bytes.length >= captureBytes;
  const { stdout, stderr } = record;
  if (outputBytes(record) <= uncountedBytes) {
    const text = (bytes: Uint8Array) => decodeOutput(bytes, isCut(bytes));
    return JSON.stringify({ ...summary, stdout: text(stdout), stderr: text(stderr) } satisfies Execution);
  }
  function* pieces(): Generator<string> {
    yield `${JSON.stringify(summary).slice(0, -1)},"stdout":"`;
    yield* escapedOutput(stdout, isCut(stdout));
    yield '","stderr":"';
    yield* escapedOutput(stderr, isCut(stderr));
    yield '"}';
  }
  return streamPieces(pieces());
}

/** The content of a JSON string with the output, piece by piece. Decodes as `decodeOutput` does. */
function* escapedOutput(bytes: Uint8Array, isCut: boolean): Generator<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    const isLast = start + pieceBytes >= bytes.length;
    const text = decoder.decode(bytes.subarray(start, start + pieceBytes), { stream: isCut || !isLast });
    yield JSON.stringify(text).slice(1, -1);
  }
}
