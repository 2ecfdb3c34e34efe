import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import { errorTable, errorTypes } from '../errors/error-table.ts';
import { defaultLimits, type Limits } from '../limits.ts';
import { defineOperations } from '../operations/all-operations.ts';
import type { Operation } from '../operations/operation.ts';
import { openApiDocument } from './document.ts';
import type { JsonSchema, OperationObject, ParameterObject, Reference } from './types.ts';

const urls = { publicUrl: 'https://sandboxes.example.com', previewUrl: 'https://TOKEN.example.com/' };
const document = openApiDocument({ limits: defaultLimits, ...urls });
const operations: readonly Operation[] = Object.values(defineOperations(defaultLimits));

function published({ path, method }: Operation, from = document): OperationObject {
  const found = from.paths[path]?.[method.toLowerCase()];
  if (found === undefined) throw new Error(`${method} ${path} is not published`);
  return found;
}

const withLimits = (limits: Partial<Limits>) => openApiDocument({ limits: { ...defaultLimits, ...limits }, ...urls });

function parameter(from: OperationObject | undefined, name: string): ParameterObject | undefined {
  const isNamed = (one: ParameterObject | Reference): one is ParameterObject => 'name' in one && one.name === name;
  return from?.parameters.find(isNamed);
}

test('is a valid OpenAPI 3.1 document', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(document) as never);
  expect(errors).toBeUndefined();
  expect(valid).toBe(true);
});

test('every reference points to something', () => {
  for (const [, pointer = ''] of JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    const target = pointer
      .split('/')
      .reduce<unknown>((part, name) => (part as Record<string, unknown>)[name], document);
    expect(target).toBeDefined();
  }
});

test('callers reach it below the version prefix with a key', () => {
  expect(document.servers).toEqual([{ url: 'https://sandboxes.example.com/v1' }]);
  expect(document.components.securitySchemes.apiKey).toMatchObject({ type: 'http', scheme: 'bearer' });
  expect(document.security).toEqual([{ apiKey: [] }]);
});

describe.each(operations)('$method $path', (operation) => {
  const { responses, ...rest } = published(operation);

  test('is published with its words', () => {
    expect(rest).toMatchObject({ operationId: operation.id, tags: [operation.tag], summary: operation.summary });
    expect(document.tags.map(({ name }) => name)).toContain(operation.tag);
    for (const place of operation.path.matchAll(/\{(\w+)\}/g)) {
      expect(parameter(published(operation), place[1] ?? '')).toMatchObject({ in: 'path', required: true });
    }
    for (const one of rest.parameters) if ('name' in one) expect(one.description).toMatch(/\w/);
  });

  test('has its answers, each explained, with the headers of every answer', () => {
    for (const status of Object.keys(operation.responses)) {
      const answer = responses[status];
      expect(answer).toMatchObject({ description: expect.stringMatching(/\w/) });
      expect(Object.keys(answer !== undefined && 'headers' in answer ? answer.headers : {})).toEqual(
        expect.arrayContaining(['X-Request-Id', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']),
      );
    }
  });

  test.each([...operation.errors, 'unauthorized', 'rate_limit_exceeded', 'internal_error'] as const)(
    'can answer %s',
    (type) => {
      const status = errorTable[type].statuses[0];
      const answer = responses[status] as Reference;
      const name = answer.$ref.split('/').at(-1) ?? '';
      expect(document.components.responses[name]?.description).toContain(`\`${type}\``);
      expect(JSON.stringify(document.components.responses[name]?.content)).toContain(`"${type}"`);
    },
  );
});

describe('errors', () => {
  test('the table has every type with its cause, category and hint', () => {
    expect(document['x-error-table'].map(({ type }) => type)).toEqual(errorTypes);
    for (const { type, statuses, cause, retry, hint } of document['x-error-table']) {
      for (const text of [`\`${type}\``, statuses.join(', '), cause, hint]) {
        expect(document.info.description).toContain(text);
      }
      expect(Object.keys(document['x-retry-categories'])).toContain(retry);
    }
  });

  test('Retry-After is on a 429 and on nothing else', () => {
    const responses = Object.entries(document.components.responses);
    const withHeader = responses.filter(([, { headers }]) => 'Retry-After' in headers).map(([name]) => name);
    expect(withHeader).toEqual(['429.rate_limit_exceeded', '429.rate_limit_exceeded.quota_exceeded']);
  });

  test('every status has an example message', () => {
    for (const type of errorTypes) expect(errorTable[type].examples.length).toBe(errorTable[type].statuses.length);
  });
});

describe('fields', () => {
  const bodyOf = (name: string): Readonly<Record<string, JsonSchema>> =>
    document.components.schemas[name]?.properties ?? {};

  test('optional ones may be null and say what leaving them out means', () => {
    expect(bodyOf('CreateSandboxRequest')).toMatchObject({
      size: { type: ['string', 'null'], enum: ['small', 'medium', 'large', null], default: 'small' },
      name: { type: ['string', 'null'], maxLength: 100, default: null },
      timeout_minutes: { type: ['integer', 'null'], minimum: 1, maximum: 1440, default: 15 },
    });
    expect(document.components.schemas.CreateSandboxRequest?.required).toBeUndefined();
    expect(document.paths['/sandboxes']?.post?.requestBody?.required).toBe(false);
  });

  test('required ones are named', () => {
    expect(bodyOf('RunCommandRequest')).toMatchObject({
      command: { type: 'string', minLength: 1, maxLength: 100_000 },
      timeout_ms: { minimum: 1000, maximum: 600_000, default: 60_000 },
      cwd: { default: '/workspace' },
      env: { type: ['object', 'null'], additionalProperties: { type: 'string' } },
    });
    expect(document.components.schemas.RunCommandRequest?.required).toEqual(['command']);
    expect(document.paths['/sandboxes/{id}/exec']?.post?.requestBody?.required).toBe(true);
  });

  test('parameters have the type they stand for', () => {
    const list = document.paths['/sandboxes']?.get;
    expect(parameter(list, 'limit')?.schema).toEqual({ type: 'integer', minimum: 1, maximum: 100, default: 20 });
    expect(parameter(list, 'include_deleted')?.schema).toEqual({ type: 'boolean', default: false });
    expect(parameter(list, 'starting_after')?.schema).toEqual({ type: 'string', format: 'date-time' });
    const close = document.paths['/sandboxes/{id}/ports/{port}']?.delete;
    expect(parameter(close, 'port')?.schema).toEqual({ type: 'integer', minimum: 1, maximum: 65_535 });
    expect(parameter(document.paths['/sandboxes']?.post, 'Idempotency-Key')).toMatchObject({
      in: 'header',
      required: false,
      schema: { minLength: 1, maxLength: 255 },
    });
  });

  test('answers may gain fields, except where the fields are exact', () => {
    const { DeletedSandbox, ...others } = document.components.schemas;
    expect(DeletedSandbox?.additionalProperties).toBe(false);
    expect(Object.values(others).map((schema) => schema.additionalProperties)).not.toContain(false);
  });
});

describe('limits', () => {
  test('all of them are published', () => {
    expect(document['x-limits']).toEqual(defaultLimits);
  });

  test.each([
    ['maxTimeoutMinutes', 77_001],
    ['defaultTimeoutMinutes', 77_002],
    ['nameCharacters', 77_003],
    ['commandCharacters', 77_004],
    ['defaultCommandTimeoutMs', 77_005],
    ['minCommandTimeoutMs', 77_006],
    ['maxCommandTimeoutMs', 77_007],
  ] as const)('%s changes the published bodies', (name, value) => {
    const { components } = withLimits({ [name]: value });
    expect(JSON.stringify(document.components.schemas)).not.toContain(`${value}`);
    expect(JSON.stringify(components.schemas)).toContain(`${value}`);
  });

  test.each([
    ['maxPageSize', 77_008],
    ['defaultPageSize', 77_009],
    ['maxUsageDays', 77_010],
    ['idempotencyKeyCharacters', 77_011],
  ] as const)('%s changes the published parameters', (name, value) => {
    expect(JSON.stringify(withLimits({ [name]: value }).paths)).toContain(`${value}`);
  });

  test.each(Object.keys(defaultLimits) as (keyof Limits)[])('%s changes the table of limits', (name) => {
    const changed = withLimits({ [name]: defaultLimits[name] * 3 });
    expect(changed.info.description).not.toBe(document.info.description);
  });
});

describe('previews', () => {
  const textFor = (previewUrl: string) =>
    openApiDocument({ limits: defaultLimits, publicUrl: 'http://127.0.0.1:8080', previewUrl }).info.description;

  test('it says how to trust the root and to reach names that are not resolved', () => {
    const text = textFor('https://TOKEN.localhost:8443/');
    expect(text).toContain('curl -o preview-root.crt http://127.0.0.1:8080/preview-root.crt');
    expect(text).toContain('curl --cacert preview-root.crt https://TOKEN.localhost:8443/');
    expect(text).toContain('--resolve TOKEN.localhost:8443:127.0.0.1 https://TOKEN.localhost:8443/');
    expect(textFor('https://TOKEN.localhost/')).toContain('--resolve TOKEN.localhost:443:127.0.0.1');
  });

  test('a domain of the operator’s is resolved by everybody', () => {
    expect(textFor('https://TOKEN.preview.example.com/')).not.toContain('--resolve');
  });
});
