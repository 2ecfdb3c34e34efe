import { text as collect } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ExecutionRecord } from '../../core/ports/store/execution-store.ts';
import { directoryJson } from './directory-json.ts';
import { executionJson } from './execution-json.ts';
import { type ResponseJson, streamPieces } from './json-pieces.ts';

const mib = 1024 ** 2;
const parse = async (json: ResponseJson) => JSON.parse(typeof json === 'string' ? json : await collect(json));

function execution(stdout: Uint8Array, stderr: Uint8Array, truncated = false): ExecutionRecord {
  const ids = { id: 'exec_1', accountId: 'acct_1', sandboxId: 'sbx_1' };
  const times = { startedAtMs: 0, finishedAtMs: 5, durationMs: 5 };
  const output = { stdout, stderr, truncated, outputDropped: false, isLive: false, writtenBytes: null };
  return { ...ids, ...times, ...output, status: 'completed', exitCode: 0, oomKilled: false };
}

describe('an execution', () => {
  test('in pieces is the same JSON as a whole one, wherever characters are cut', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', '"', '\n', 'é', '€', '🦋', '\0', '\ufeff'), maxLength: 40 });
    const tail = fc.uint8Array({ maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(text, tail, fc.nat({ max: 20 }), fc.boolean(), async (unit, bytes, shift, truncated) => {
        const whole = Buffer.concat([Buffer.alloc(65_536 - shift, 'x'), Buffer.from(unit.repeat(3)), bytes]);
        const stdout = whole.subarray(0, 65_543);
        const { stdout: sent, stderr } = await parse(executionJson(execution(stdout, bytes, truncated), 65_543));
        const isCut = truncated && stdout.length >= 65_543;
        expect(sent).toBe(new TextDecoder('utf-8', { ignoreBOM: true }).decode(stdout, { stream: isCut }));
        expect(stderr).toBe(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes));
      }),
      { numRuns: 200 },
    );
  });

  test('of which nobody reads the response is not escaped in memory', async () => {
    const json = executionJson(execution(Buffer.alloc(mib), Buffer.alloc(mib)), mib);
    if (typeof json === 'string') expect.fail('expected a stream');
    json.read();
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
    expect(json.readableLength).toBeLessThan(800_000);
    json.destroy();
  });
});

describe('a directory', () => {
  test('in pieces is the same JSON as a whole one', async () => {
    const entry = fc.record({
      name: fc.string({ minLength: 1 }).map((name) => Buffer.from(name)),
      type: fc.constantFrom('file', 'dir', 'symlink', 'other'),
      sizeBytes: fc.option(fc.nat()),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 12 }), fc.string(), async (entries, path) => {
        const record = { kind: 'directory', path, entries } as const;
        const pieces = directoryJson(record, 3);
        expect(typeof pieces === 'string').toBe(entries.length <= 3);
        expect(await parse(pieces)).toEqual(await parse(directoryJson(record, 100)));
      }),
    );
  });
});

test('few pieces are made per turn of the event loop, so that others are served in between', async () => {
  let turn = 0;
  let isOver = false;
  const countTurns = () => {
    turn += 1;
    if (!isOver) setImmediate(countTurns);
  };
  setImmediate(countTurns);
  const turns: number[] = [];
  function* pieces() {
    for (let piece = 0; piece < 80; piece += 1) {
      turns.push(turn);
      yield 'x'.repeat(100_000);
    }
  }
  await Promise.all([1, 2, 3].map(() => collect(streamPieces(pieces()))));
  isOver = true;
  const perTurn = Object.values(Object.groupBy(turns, (at) => at)).map((made) => made?.length ?? 0);
  expect(turns.length).toBe(240);
  // Two batches can meet between two counts.
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(16);
});
