import { Readable, Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { upload } from './upload.ts';

it('skips empty chunks', async () => {
  const written: string[] = [];
  const target = new Writable({
    write: (piece: Buffer, _encoding, done) => {
      written.push(piece.toString());
      done();
    },
  });
  const pieces = ['', 'a', '', 'b', ''].map((text) => Buffer.from(text));
  await upload(Readable.from(pieces, { objectMode: true }), target, 2);
  expect(written).toEqual(['a', 'b']);
});
