import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeBase64, takeContent } from './write-file-body.ts';

describe('takeContent', () => {
  test('decodes text as UTF-8 and leaves a valid placeholder', () => {
    expect(takeContent({ path: 'a', content: 'grüße 🦋\0' })).toEqual({
      body: { path: 'a', content: '' },
      content: Buffer.from('grüße 🦋\0'),
    });
  });

  test('leaves a placeholder that is not Unicode for half of a surrogate pair', () => {
    expect(takeContent({ content: 'a\ud83e' })).toEqual({ body: { content: '\ud800' }, content: undefined });
  });

  test('decodes base64', () => {
    expect(takeContent({ content: 'Yf8=', encoding: 'base64' })).toEqual({
      body: { content: '', encoding: 'base64' },
      content: Buffer.from([0x61, 0xff]),
    });
  });

  test('leaves a placeholder that is not base64 for content that is not base64', () => {
    const { body, content } = takeContent({ content: 'Yf8', encoding: 'base64' });
    expect([body, content]).toEqual([{ content: '=', encoding: 'base64' }, undefined]);
    expect(decodeBase64('=')).toBeUndefined();
  });

  test.each([undefined, null, 5, 'content', [], {}, { content: 5 }, { content: null }])(
    'leaves %j as it is for validation to refuse',
    (body) => {
      expect(takeContent(body)).toEqual({ body, content: undefined });
    },
  );
});

describe('decodeBase64', () => {
  const strictBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

  test('decodes what Buffer encodes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ size: 'large' }), (bytes) => {
        expect(decodeBase64(Buffer.from(bytes).toString('base64'))).toEqual(Buffer.from(bytes));
      }),
    );
  });

  test('accepts exactly the standard alphabet with its padding', () => {
    const unit = fc.constantFrom(
      'A',
      'Z',
      'a',
      'z',
      '0',
      '9',
      '+',
      '/',
      '=',
      '-',
      '_',
      ' ',
      '\n',
      'é',
      '🦋',
      '\0',
      '.',
    );
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 12 }), (text) => {
        const expected = strictBase64.test(text) ? Buffer.from(text, 'base64') : undefined;
        expect(decodeBase64(text)).toEqual(expected);
      }),
      { numRuns: 20_000 },
    );
  });

  test('refuses a single wrong character anywhere in a long text', () => {
    const text = 'QUJD'.repeat(1_000);
    for (let code = 0; code < 256; code += 1) {
      const character = String.fromCharCode(code);
      for (const at of [0, 1, 1_999, 3_998, 3_999]) {
        const changed = `${text.slice(0, at)}${character}${text.slice(at + 1)}`;
        expect([code, at, decodeBase64(changed) !== undefined]).toEqual([code, at, strictBase64.test(changed)]);
      }
    }
  });
});
