import { expect, test } from 'vitest';
import { tokenize } from './highlight.ts';

test.each([
  ['typescript', "import { Mayfly } from '@mayfly/sdk'; // the client"],
  ['typescript', 'const a = `1` + "2" + null;'],
  ['shell', `curl -X POST 'http://localhost' -H "Authorization: Bearer $KEY" # create`],
  ['shell', "mayfly run 'unfinished"],
  ['shell', ''],
] as const)('%s: %j stays what it is', (language, line) => {
  expect(
    tokenize(line, language)
      .map(({ text }) => text)
      .join(''),
  ).toBe(line);
});

test('strings, keywords and comments are recognised', () => {
  const kinds = tokenize("await run('x'); // y", 'typescript').map(({ kind, text }) => `${kind}: ${text}`);
  expect(kinds).toEqual(['keyword: await', 'plain:  run(', "string: 'x'", 'plain: ); ', 'comment: // y']);
});

test('a quote that is escaped as a shell needs it is part of its string', () => {
  const kinds = tokenize(`create --name 'it'\\''s <b>' --lifetime 15`, 'shell').map(
    ({ kind, text }) => `${kind}: ${text}`,
  );
  expect(kinds).toEqual(['plain: create --name ', `string: 'it'\\''s <b>'`, 'plain:  --lifetime 15']);
});
