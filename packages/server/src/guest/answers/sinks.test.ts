import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunked } from '../../../test/guest/chunked.ts';
import { ended, frame, hello } from '../../../test/guest/peer.ts';
import { GuestRefusal, NoRoom } from '../../core/ports/guest-agent.ts';
import { ProtocolViolation } from '../guest-errors.ts';
import { ByteCollector } from './byte-collector.ts';
import { executionSink } from './execution-sink.ts';
import { listingSink } from './listing-sink.ts';
import { clockAnswer, fileDeleted, fileWritten, helloAnswer, statsAnswer } from './schemas.ts';
import { fileSink, jsonSink, refusalSink, type Sink } from './sinks.ts';

function feed<T>(sink: Sink<T>, chunks: readonly Buffer[]): T {
  for (const chunk of chunks) sink.push(chunk);
  return sink.finish();
}

const start = frame(0, { started_at_ms: 1 });
const end = frame(3, ended);

describe('guest answers', () => {
  it('parses valid answers', () => {
    expect(feed(jsonSink(helloAnswer), [Buffer.from(JSON.stringify(hello))])).toMatchObject({ protocol: 1, bootMs: 1 });
    expect(feed(jsonSink(clockAnswer), [Buffer.from('{"unix_ns":"1790000000000000000"}')])).toBe(1790000000000000000n);
  });

  it('parses any JSON and any bytes or throws a ProtocolViolation', () => {
    const anything = fc.oneof(
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
      fc.json().map((json) => Buffer.from(json)),
      fc
        .record({ code: fc.constantFrom('internal', 'nonsense'), message: fc.string() })
        .map((value) => Buffer.from(JSON.stringify(value))),
    );
    fc.assert(
      fc.property(anything, (bytes) => {
        const sinks = [
          jsonSink(helloAnswer),
          jsonSink(clockAnswer),
          jsonSink(statsAnswer),
          jsonSink(fileWritten),
          jsonSink(fileDeleted),
          listingSink(10),
          refusalSink(),
          executionSink(100),
        ];
        for (const sink of sinks) {
          try {
            feed<unknown>(sink, [bytes]);
          } catch (error) {
            expect(error instanceof ProtocolViolation || error instanceof GuestRefusal).toBe(true);
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    { ...hello, protocol: 2 },
    { ...hello, boot_ms: -1 },
    { ...hello, boot_ms: 1.5 },
    { ...hello, boot_ms: 1e300 },
  ])('refuses an invalid hello: %j', (body) => {
    expect(() => feed(jsonSink(helloAnswer), [Buffer.from(JSON.stringify(body))])).toThrow(ProtocolViolation);
  });

  it('stops reading a JSON body at its limit', () => {
    const sink = jsonSink(helloAnswer, 100);
    expect(() => sink.push(Buffer.alloc(101))).toThrow(ProtocolViolation);
  });

  it('removes control characters from a refusal', () => {
    const body = Buffer.from(JSON.stringify({ code: 'internal', message: 'a\u001b[31m\nb' }));
    expect(() => feed(refusalSink(), [body])).toThrow(
      expect.objectContaining({ message: 'a [31m b', code: 'internal' }),
    );
  });
});

describe('room for large answers', () => {
  const noRoom = () => false;
  const output = (bytes: number) => [start, frame(1, Buffer.alloc(bytes)), end];

  it('is asked for step by step once more than 32 KiB are kept', () => {
    const asked: number[] = [];
    const reserve = (bytes: number) => asked.push(bytes) > 0;
    feed(executionSink(1_000_000, reserve), output(32_768));
    expect(asked).toEqual([]);
    feed(executionSink(1_000_000, reserve), [
      start,
      ...Array.from({ length: 9 }, () => frame(2, Buffer.alloc(10_000))),
      end,
    ]);
    expect(asked).toEqual([40_000 + 262_144]);
  });

  it('that is refused ends the call before the answer is collected', () => {
    const large = { status: 200, header: () => '32769' };
    expect(() => feed(executionSink(1_000_000, noRoom), output(40_000))).toThrow(NoRoom);
    expect(() => fileSink(large, 100_000, noRoom)).toThrow(NoRoom);
    const lying = { status: 200, header: () => '0' };
    expect(() => feed(fileSink(lying, 100_000, noRoom), [Buffer.alloc(40_000)])).toThrow(NoRoom);
    const path = `{"path":"/${'x'.repeat(40_000)}`;
    expect(() => feed(listingSink(50_000, noRoom), [Buffer.from(path)])).toThrow(NoRoom);
  });
});

describe('a listing', () => {
  const listed = (more: object, count = 1) => {
    const entry = { name_base64: 'YQ==', type: 'file', size_bytes: 0, ...more };
    const listing = { path: '/x', entries: Array.from({ length: count }, () => entry), truncated: false };
    return feed(listingSink(2), [Buffer.from(JSON.stringify(listing))]).entries;
  };
  const named = (name: string | Buffer) => ({ name_base64: Buffer.from(name).toString('base64') });

  it.each(['a', '...', ' ', '-rf', 'x'.repeat(255), 'grüße\n'])('accepts the name %j', (name) => {
    expect(listed(named(name))).toEqual([{ name: Buffer.from(name), type: 'file', sizeBytes: 0 }]);
  });

  it.each([
    ['an empty name', named('')],
    ['a path', named('a/b')],
    ['NUL', named('a\0b')],
    ['a name that is too long', named('x'.repeat(256))],
    ['invalid base64', { name_base64: 'a' }],
    ['an unknown type', { type: 'door' }],
    ['a negative size', { size_bytes: -1 }],
    ['a size that is not a number', { size_bytes: '1' }],
  ])('refuses %s', (_, more) => {
    expect(() => listed(more)).toThrow(ProtocolViolation);
  });

  it('is the same however it is cut into chunks', () => {
    const entry = fc.record({
      name_base64: fc.uint8Array({ minLength: 1, maxLength: 255 }).map((bytes) => {
        return Buffer.from(bytes.map((byte) => (byte === 0 || byte === 0x2f ? 0x61 : byte))).toString('base64');
      }),
      type: fc.constantFrom('file', 'dir', 'symlink', 'other'),
      size_bytes: fc.option(fc.nat()),
    });
    const path = fc.string({ unit: fc.constantFrom('a', '"', ',', '[', ']', '}', '\\', 'ü', ',"entries":[') });
    const listing = fc.record({
      path: path.map((rest) => `/${rest}`),
      entries: fc.array(entry, { maxLength: 20 }),
      truncated: fc.boolean(),
    });
    fc.assert(
      fc.property(listing, fc.infiniteStream(fc.nat({ max: 600 })), (sent, sizes) => {
        const json = Buffer.from(`${JSON.stringify(sent)}\n`);
        const chunks: Buffer[] = [];
        for (let at = 0; at < json.length; at += chunks.at(-1)?.length ?? 0) {
          chunks.push(json.subarray(at, at + 1 + (sizes.next().value ?? 0)));
        }
        expect(feed(listingSink(20), chunks)).toEqual({
          entries: sent.entries.map(({ name_base64, type, size_bytes }) => {
            return { name: Buffer.from(name_base64, 'base64'), type, sizeBytes: size_bytes };
          }),
          truncated: sent.truncated,
        });
      }),
    );
  });

  it.each([
    ['no entries', '{"path":"/x","truncated":false}'],
    ['entries that do not end', '{"path":"/x","entries":[{"name_base64":"YQ==","type":"dir","size_bytes":null}'],
    ['something after the end', '{"path":"/x","entries":[],"truncated":false}{}'],
    ['no path', '{"where":"/x","entries":[],"truncated":false}'],
    ['an entry without an end', `{"path":"/x","entries":[{"name_base64":"${'a'.repeat(10_000)}`],
    ['a head without an end', `{"path":"${'a'.repeat(300_000)}`],
  ])('refuses %s', (_, json) => {
    expect(() => feed(listingSink(2), [Buffer.from(json)])).toThrow(ProtocolViolation);
  });

  it('refuses more entries than requested', () => {
    expect(listed({}, 2)).toHaveLength(2);
    expect(() => listed({}, 3)).toThrow(ProtocolViolation);
  });
});

describe('an execution', () => {
  it('returns both outputs and the result, however the stream is chunked', () => {
    const wire = Buffer.concat([start, frame(1, 'h'), frame(2, 'oops'), frame(1, Buffer.alloc(0)), frame(1, 'i'), end]);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 30 })), (cuts) => {
        const result = feed(executionSink(100), chunked(wire, cuts));
        expect(result).toMatchObject({ exitCode: 0, truncated: false, durationMs: 5 });
        expect([result.stdout.toString(), result.stderr.toString()]).toEqual(['hi', 'oops']);
      }),
    );
  });

  const tooMuch = Array.from({ length: 3 }, () => frame(1, Buffer.alloc(65_536)));
  it.each([
    ['no result', [start, frame(1, 'hi')]],
    ['nothing', []],
    ['output before the start', [frame(1, 'hi'), end]],
    ['two starts', [start, start, end]],
    ['a frame after the result', [start, end, frame(1, 'x')]],
    ['an unknown frame', [start, frame(9, 'x'), end]],
    ['half a frame', [start, end.subarray(0, 9)]],
    ['more output than requested', [start, ...tooMuch, end]],
    ['an exit code out of range', [start, frame(3, { ...ended, exit_code: 256 })]],
    ['a huge result', [start, frame(3, { ...ended, padding: 'x'.repeat(5_000) })]],
    ['endless empty frames', [start, Buffer.concat(Array.from({ length: 5_000 }, () => frame(1, '')))]],
  ])('refuses %s', (_, wire) => {
    expect(() => feed(executionSink(100), wire)).toThrow(ProtocolViolation);
  });
});

describe('a file', () => {
  const head = (size: string) => ({
    status: 200,
    header: (name: string) => (name === 'mayfly-size' ? size : undefined),
  });

  it('accepts what arrives, more or less than its size header announced', () => {
    for (const size of ['0', '4', '100']) {
      expect(feed(fileSink(head(size), 100), [Buffer.from('abcd')]).toString()).toBe('abcd');
    }
  });

  it.each(['', '-1', '1e3', '101', '9'.repeat(20)])('refuses the size %j', (size) => {
    expect(() => fileSink(head(size), 100)).toThrow(ProtocolViolation);
  });

  it('refuses more bytes than requested', () => {
    expect(() => feed(fileSink(head('4'), 100), [Buffer.alloc(101)])).toThrow(ProtocolViolation);
  });
});

describe('ByteCollector', () => {
  it('returns the bytes in order for any chunks and any hint', () => {
    const pieces = fc.array(fc.uint8Array({ maxLength: 9_000 }), { maxLength: 12 });
    fc.assert(
      fc.property(pieces, fc.nat(20_000), (list, hint) => {
        const collector = new ByteCollector(200_000, hint);
        for (const piece of list) expect(collector.push(Buffer.from(piece))).toBe(true);
        expect(collector.concat().equals(Buffer.concat(list))).toBe(true);
      }),
    );
  });
});
