import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { describeFailedRules } from '../error-table.ts';
import { defaultLimits } from '../limits.ts';
import { guide } from '../openapi/guide.ts';
import { defineOperations } from './all-operations.ts';

const { createSandbox, createSnapshot, listSandboxes, listSnapshots, readFile, runCommand } =
  defineOperations(defaultLimits);
const { body: createSandboxBody, headers: createSandboxHeaders } = createSandbox;
const { query: listSandboxesQuery } = listSandboxes;
const { body: runCommandBody } = runCommand;

function rulesOf(schema: z.ZodType, input: unknown): string {
  const result = schema.safeParse(input);
  return result.success ? '' : describeFailedRules(result.error.issues);
}

describe('create', () => {
  test.each([[undefined], [null], [{}], [{ size: null, name: null, timeout_minutes: null }], [{ colour: 'blue' }]])(
    '%j results in the defaults',
    (body) => {
      const absent = { size: null, name: null, timeout_minutes: null, snapshot_id: null, template: null };
      expect(createSandboxBody.parse(body)).toEqual(absent);
    },
  );

  test('lists every failing rule', () => {
    expect(rulesOf(createSandboxBody, { size: 'tiny', name: 'x'.repeat(101), timeout_minutes: 0 })).toBe(
      'size must be one of small, medium, large; name must be at most 100 characters; timeout_minutes must be an integer from 1 to 1440',
    );
  });

  test('counts a name in code points', () => {
    expect(rulesOf(createSandboxBody, { name: '🦋'.repeat(100) })).toBe('');
    expect(rulesOf(createSandboxBody, { name: '🦋'.repeat(101) })).toContain('100 characters');
  });

  test.each([1441, 1.5, '15', true, Number.NaN, -1, 1e300])('rejects timeout_minutes %j', (timeout_minutes) => {
    expect(rulesOf(createSandboxBody, { timeout_minutes })).toBe('timeout_minutes must be an integer from 1 to 1440');
  });

  test.each([[[]], ['text'], [1], [true]])('rejects a body of %j', (body) => {
    expect(rulesOf(createSandboxBody, body)).toBe('the body must be a JSON object');
  });

  test('an idempotency key has 1 to 255 characters', () => {
    expect(rulesOf(createSandboxHeaders, { 'idempotency-key': 'k'.repeat(255), host: 'x' })).toBe('');
    expect(rulesOf(createSandboxHeaders, { 'idempotency-key': 'k'.repeat(256) })).toContain('Idempotency-Key');
    expect(rulesOf(createSandboxHeaders, { 'idempotency-key': '' })).toContain('Idempotency-Key');
    // As Node gives it: one character for each byte.
    const received = (key: string) => Buffer.from(key).toString('latin1');
    expect(rulesOf(createSandboxHeaders, { 'idempotency-key': received('ä'.repeat(255)) })).toBe('');
    expect(rulesOf(createSandboxHeaders, { 'idempotency-key': received('ä'.repeat(256)) })).toContain(
      'Idempotency-Key',
    );
    expect(rulesOf(createSandboxHeaders, { 'idempotency-key': '\xff'.repeat(255) })).toBe('');
  });
});

describe('reserved fields', () => {
  const notSupported = (name: string) => `${name} is not supported by this version of the service`;

  test.each([{ network: { egress: 'none' } }, { metadata: {} }, { env: { A: 'x' } }, { idle_pause_minutes: 5 }])(
    'create refuses %j',
    (body) => {
      expect(rulesOf(createSandboxBody, body)).toBe(notSupported(Object.keys(body)[0] ?? ''));
    },
  );

  test('a query refuses them too', () => {
    for (const name of ['metadata', 'metadata[env]']) {
      expect(rulesOf(listSandboxesQuery, { [name]: 'prod' })).toBe(notSupported('metadata'));
    }
    expect(rulesOf(readFile.query, { list: 'true', depth: '2' })).toBe(notSupported('depth'));
  });

  test('are those that the record of decisions and the guide name', () => {
    const fieldsIn = (text = '') => [...text.matchAll(/`(\w+)(?:\[…\])?`/g)].map(([, name = '']) => name);
    const decisions = readFileSync(
      new URL('../../../../docs/decisions/specification-gaps.md', import.meta.url),
      'utf8',
    );
    const named = fieldsIn(/OpenAPI document: (.*?)\./s.exec(decisions)?.[1]);
    const page = JSON.stringify(guide({ publicUrl: '', previewUrl: '', limits: defaultLimits }));
    expect(fieldsIn(/does not have, which are refused with 400: (.*?)\./.exec(page)?.[1])).toEqual(named);
    const [ofCreate, ofQueries] = [named.slice(0, -2), named.slice(-2)];
    for (const name of ofCreate) expect(rulesOf(createSandboxBody, { [name]: 'x' })).toBe(notSupported(name));
    expect(ofQueries).toEqual(['metadata', 'depth']);
  });

  test('null and false ask for nothing, and other unknown fields are ignored', () => {
    expect(rulesOf(createSandboxBody, { network: null, metadata: null, colour: 'blue' })).toBe('');
    expect(rulesOf(runCommandBody, { command: 'ls', stream: false, background: null, shell: 'zsh' })).toBe('');
    expect(rulesOf(listSandboxesQuery, { colour: 'blue', 'labels[env]': 'prod', 'limit[x]': '0' })).toBe('');
  });
});

describe('list', () => {
  test('has defaults', () => {
    expect(listSandboxesQuery.parse({})).toEqual({ limit: 20, include_deleted: false });
  });

  test.each(['0', '101', 'ten', '', '1.5', '1e1', ['1', '2']])('rejects limit %j', (limit) => {
    expect(rulesOf(listSandboxesQuery, { limit })).toBe('limit must be an integer from 1 to 100');
  });

  test('parses a cursor with milliseconds and rejects anything but a date-time', () => {
    const parsed = listSandboxesQuery.parse({ starting_after: '2026-01-02T03:04:05.678Z', include_deleted: 'true' });
    expect(parsed).toEqual({
      limit: 20,
      starting_after: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
      include_deleted: true,
    });
    expect(rulesOf(listSandboxesQuery, { starting_after: 'sbx_1', include_deleted: 'maybe' })).toBe(
      'starting_after must be a date-time; include_deleted must be true or false',
    );
  });
});

describe('snapshots', () => {
  const { body, headers } = createSnapshot;
  const rule =
    'alias must be 1 to 100 of a-z, 0-9, ".", "_" and "-", begin with a letter or digit, and not be small, medium, large';

  test.each([[undefined], [null], [{}], [{ name: null, alias: null }]])('%j results in the defaults', (given) => {
    expect(body.parse(given)).toEqual({ name: null, alias: null });
  });

  test.each(['a', '0', 'web-app_2.1', 'smaller', 'small.1', 'a'.repeat(100)])('accepts the alias %s', (alias) => {
    expect(rulesOf(body, { alias })).toBe('');
  });

  test.each(['', '-a', '.a', 'A', 'a b', 'a/b', 'ä', 'a\n', 'a'.repeat(101), 'small', 'medium', 'large', 7])(
    'rejects the alias %j',
    (alias) => {
      expect(rulesOf(body, { alias })).toBe(rule);
    },
  );

  test('a name and an idempotency key have the limits of a create', () => {
    expect(rulesOf(body, { name: '🦋'.repeat(101) })).toBe('name must be at most 100 characters');
    expect(rulesOf(headers, { 'idempotency-key': '' })).toContain('Idempotency-Key');
  });

  test('the list takes a limit and a cursor', () => {
    expect(listSnapshots.query.parse({ starting_after: '2026-01-02T03:04:05.678Z' })).toEqual({
      limit: 20,
      starting_after: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
    });
    expect(rulesOf(listSnapshots.query, { limit: '0', starting_after: 'snap_1' })).toBe(
      'limit must be an integer from 1 to 100; starting_after must be a date-time',
    );
  });
});

describe('exec', () => {
  test('has defaults', () => {
    expect(runCommandBody.parse({ command: 'ls', env: null, cwd: null, timeout_ms: null })).toEqual({
      command: 'ls',
      timeout_ms: null,
      cwd: '/workspace',
      env: {},
      stream: false,
      background: false,
      stdin: null,
    });
  });

  test('stdin needs a command that is live', () => {
    const rule = 'stdin must be false unless stream or background is true';
    expect(rulesOf(runCommandBody, { command: 'cat', stdin: true })).toBe(rule);
    expect(rulesOf(runCommandBody, { command: 'cat', stdin: true, stream: true })).toBe('');
    expect(rulesOf(runCommandBody, { command: 'cat', stdin: false })).toBe('');
    expect(rulesOf(runCommandBody, { command: 'cat', stream: 'yes' })).toBe('stream must be true or false');
  });

  test('a command has 1 to 100000 characters', () => {
    const rule = 'command must be a string of 1 to 100000 characters';
    for (const command of ['', 'x'.repeat(100_001), 7, null, undefined]) {
      expect(rulesOf(runCommandBody, { command })).toBe(rule);
    }
    expect(rulesOf(runCommandBody, {})).toBe(rule);
    expect(rulesOf(runCommandBody, { command: '🦋'.repeat(100_000) })).toBe('');
  });

  test('lists every invalid variable and every other failing rule', () => {
    expect(rulesOf(runCommandBody, { command: '', timeout_ms: 999, env: { '1A': 1, GOOD: 'x', B: null } })).toBe(
      [
        'command must be a string of 1 to 100000 characters',
        'timeout_ms must be an integer from 1000 to 600000',
        'env name "1A" is not a valid variable name',
        'env value of "1A" must be a string',
        'env value of "B" must be a string',
      ].join('; '),
    );
    expect(rulesOf(runCommandBody, { command: 'ls', env: [] })).toBe('env must be an object of strings');
  });

  test('`__proto__` is a variable name like any other', () => {
    const env = JSON.parse('{"__proto__": "x", "A": "y"}') as unknown;
    const parsed = runCommandBody.parse({ command: 'ls', env });
    expect(JSON.stringify(parsed.env)).toBe('{"__proto__":"x","A":"y"}');
    expect(rulesOf(runCommandBody, { command: 'ls', env: JSON.parse('{"__proto__": {"A": "x"}}') })).toBe(
      'env value of "__proto__" must be a string',
    );
  });

  test('a name inside a message cannot forge the separator of rules', () => {
    const forged = 'A; size must be small';
    const message = rulesOf(runCommandBody, { command: '', env: { [forged]: 1 } });
    expect(message.split(';')).toHaveLength(3);
    expect(message).toContain('env name "A\\u003b size must be small" is not a valid variable name');
    expect(JSON.parse('"A\\u003b size must be small"')).toBe(forged);
  });

  test('NUL is rejected everywhere', () => {
    expect(rulesOf(createSandboxBody, { name: 'a\0b' })).toBe('name must not contain NUL characters');
    expect(rulesOf(runCommandBody, { command: 'a\0b', cwd: '/\0', env: { A: '\0' } })).toBe(
      'command must not contain NUL characters; cwd must not contain NUL characters; env value of "A" must not contain NUL characters',
    );
  });
});
