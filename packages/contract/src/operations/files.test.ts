import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { describeFailedRules } from '../error-table.ts';
import { defaultLimits } from '../limits.ts';
import { defineOperations } from './all-operations.ts';
import { resolveFilePath } from './files.ts';

const { writeFile, readFile, deleteFile } = defineOperations(defaultLimits);

function rulesOf(schema: z.ZodType, input: unknown): string {
  const result = schema.safeParse(input);
  return result.success ? '' : describeFailedRules(result.error.issues);
}

describe('a path', () => {
  test.each([
    ['a.txt', '/workspace/a.txt'],
    ['./a//b/', '/workspace/a/b'],
    ['a/../b', '/workspace/b'],
    ['a/b/../../c', '/workspace/c'],
    ['.', '/workspace'],
    ['a/..', '/workspace'],
    ['/', '/'],
    ['/../..', '/'],
    ['/workspace/', '/workspace'],
    ['/workspace/../etc/./passwd', '/etc/passwd'],
    ['-rf', '/workspace/-rf'],
    ['..a/...', '/workspace/..a/...'],
    ['~/a', '/workspace/~/a'],
  ])('%s resolves to %s', (path, absolute) => {
    expect(resolveFilePath(path)).toBe(absolute);
  });

  test.each(['..', '../x', 'a/../..', '../workspace/x', './../x', 'a/../../workspace'])(
    '%s leads out of /workspace',
    (path) => {
      expect(rulesOf(deleteFile.query, { path })).toBe('path must not lead out of /workspace');
    },
  );

  test.each([
    ['', 'path must not be empty'],
    ['a\0b', 'path must not contain NUL characters'],
    ['a\ud800', 'path must be valid Unicode'],
    ['x'.repeat(4_097), 'path must be at most 4096 characters'],
    [['a', 'b'], 'path must be a string'],
    [undefined, 'path must be a string'],
  ])('%j is rejected: %s', (path, rule) => {
    expect(rulesOf(deleteFile.query, { path })).toBe(rule);
    expect(rulesOf(writeFile.body, { path, content: '' })).toBe(rule);
  });

  test('may have up to 4096 code points', () => {
    expect(rulesOf(deleteFile.query, { path: '🦋'.repeat(4_096) })).toBe('');
  });
});

describe('write', () => {
  test('defaults to utf8', () => {
    const file = { path: 'a', content: 'x' };
    expect(writeFile.body.parse({ ...file, encoding: null, mode: 7 })).toEqual({ ...file, encoding: 'utf8' });
  });

  test('lists every failing rule', () => {
    expect(rulesOf(writeFile.body, { path: '../x', content: 'a', encoding: 'base64' })).toBe(
      'path must not lead out of /workspace; content must be base64 with padding and without white space',
    );
    expect(rulesOf(writeFile.body, { path: 7, content: null, encoding: 'latin1' })).toBe(
      'path must be a string; content must be a string; encoding must be one of utf8, base64',
    );
    for (const missing of [undefined, null, {}]) {
      expect(rulesOf(writeFile.body, missing)).toBe('path must be a string; content must be a string');
    }
    for (const body of [[], 'text', 5]) expect(rulesOf(writeFile.body, body)).toBe('the body must be a JSON object');
  });

  test.each(['', 'QQ==', 'QUI=', 'QUJD', '+/+/', 'QR=='])('%j is base64', (content) => {
    expect(rulesOf(writeFile.body, { path: 'a', content, encoding: 'base64' })).toBe('');
  });

  test.each(['Q', 'QQ', 'QQ=', 'QQ===', '====', '=', 'QUJD\n', 'QU JD', '-_-_', 'QQ==QQ==', 'QÜ=='])(
    '%j is not base64',
    (content) => {
      expect(rulesOf(writeFile.body, { path: 'a', content, encoding: 'base64' })).toContain('base64');
    },
  );
});

describe('read', () => {
  test('defaults to /workspace', () => {
    expect(readFile.query.parse({})).toEqual({ path: '/workspace', list: false });
  });

  test('lists every failing rule', () => {
    expect(rulesOf(readFile.query, { path: '', encoding: 'hex', list: '1' })).toBe(
      'path must not be empty; encoding must be one of utf8, base64; list must be true or false',
    );
  });
});

test('delete is not recursive by default', () => {
  expect(deleteFile.query.parse({ path: 'a' })).toEqual({ path: 'a', recursive: false });
  expect(rulesOf(deleteFile.query, { recursive: 'yes' })).toBe(
    'path must be a string; recursive must be true or false',
  );
});

test.each(['/', '//', '/workspace', '/workspace/', '.', './', 'a/..', '/workspace/../workspace', '/..'])(
  '%s cannot be deleted',
  (path) => {
    expect(rulesOf(deleteFile.query, { path, recursive: 'true' })).toBe('path must not be / or /workspace itself');
  },
);

test('content that is half of a surrogate pair is refused', () => {
  const body = { path: 'a', content: 'a\ud83e' };
  expect(rulesOf(writeFile.body, body)).toBe('content must be valid Unicode');
  expect(rulesOf(writeFile.body, { ...body, content: 'a🦋' })).toBe('');
});
