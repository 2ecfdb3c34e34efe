import { text as collect } from 'node:stream/consumers';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fileJson } from './file-json.ts';

test('a streamed file is the same JSON as a whole one', async () => {
  const text = fc.string({ unit: fc.constantFrom('a', '"', '\\', '\n', '\u0001', 'é', '€', '🦋', '\ufeff', '\0') });
  const content = fc.oneof(
    fc.record({ encoding: fc.constant('utf8' as const), content: text.map((string) => Buffer.from(string)) }),
    fc.record({
      encoding: fc.constant('base64' as const),
      content: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    }),
  );
  const chunkBytes = fc.constantFrom(6, 9, 12);
  await fc.assert(
    fc.asyncProperty(content, fc.string(), chunkBytes, async (file, path, bytes) => {
      const json = fileJson({ kind: 'file', path, ...file }, bytes);
      expect(typeof json === 'string').toBe(file.content.length <= bytes);
      expect(JSON.parse(typeof json === 'string' ? json : await collect(json))).toEqual({
        object: 'file',
        path,
        bytes: file.content.length,
        encoding: file.encoding,
        content: file.content.toString(file.encoding),
      });
    }),
    { numRuns: 1_000 },
  );
});

test('chunks are encoded only as the client reads', async () => {
  const json = fileJson({ kind: 'file', path: '/a', encoding: 'base64', content: Buffer.alloc(8 * 1024 ** 2) });
  if (typeof json === 'string') expect.fail('expected a stream');
  json.read();
  await new Promise(setImmediate);
  expect(json.readableLength).toBeLessThan(500_000);
  json.destroy();
});
