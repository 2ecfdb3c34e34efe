import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import { errorTable, errorTypes } from '../error-table.ts';
import { defaultLimits, fixedLimits, type Limits } from '../limits.ts';
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

test('every reference can be resolved', () => {
  for (const [, pointer = ''] of JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    const target = pointer
      .split('/')
      .reduce<unknown>((part, name) => (part as Record<string, unknown>)[name], document);
    expect(target).toBeDefined();
  }
});

test('the server URL ends in the version prefix and the API needs a key', () => {
  expect(document.servers).toEqual([{ url: 'https://sandboxes.example.com/v1' }]);
  expect(document.components.securitySchemes.apiKey).toMatchObject({ type: 'http', scheme: 'bearer' });
  expect(document.security).toEqual([{ apiKey: [] }]);
});

describe.each(operations)('$method $path', (operation) => {
  const { responses, ...rest } = published(operation);

  test('is published with its id, tag and summary', () => {
    expect(rest).toMatchObject({ operationId: operation.id, tags: [operation.tag], summary: operation.summary });
    expect(document.tags.map(({ name }) => name)).toContain(operation.tag);
    for (const match of operation.path.matchAll(/\{(\w+)\}/g)) {
      expect(parameter(published(operation), match[1] ?? '')).toMatchObject({ in: 'path', required: true });
    }
    for (const one of rest.parameters) if ('name' in one) expect(one.description).toMatch(/\w/);
  });

  test('describes each success response, with the common headers', () => {
    for (const status of Object.keys(operation.responses)) {
      const response = responses[status];
      expect(response).toMatchObject({ description: expect.stringMatching(/\w/) });
      expect(Object.keys(response !== undefined && 'headers' in response ? response.headers : {})).toEqual(
        expect.arrayContaining(['X-Request-Id', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']),
      );
    }
  });

  test.each([...operation.errors, 'unauthorized', 'rate_limit_exceeded', 'internal_error'] as const)(
    'can return %s',
    (type) => {
      const status = errorTable[type].statuses[0];
      const response = responses[status] as Reference;
      const name = response.$ref.split('/').at(-1) ?? '';
      expect(document.components.responses[name]?.description).toContain(`\`${type}\``);
      expect(JSON.stringify(document.components.responses[name]?.content)).toContain(`"${type}"`);
    },
  );
});

test('the operations that accept a ticket, and no others, publish it as a parameter', () => {
  const withParameter = operations.filter((one) => parameter(published(one), 'ticket') !== undefined);
  expect(withParameter).toEqual(operations.filter(({ acceptsTicket }) => acceptsTicket));
  expect(withParameter.map(({ id }) => id)).toEqual(expect.arrayContaining(['streamExecution', 'streamStats']));
});

describe('errors', () => {
  test('the error table lists every type with its cause, retry category and hint', () => {
    expect(document['x-error-table'].map(({ type }) => type)).toEqual(errorTypes);
    for (const { type, statuses, cause, retry, retryByStatus = {}, hint } of document['x-error-table']) {
      for (const text of [`\`${type}\``, statuses.join(', '), cause, hint]) {
        expect(document.info.description).toContain(text);
      }
      expect(Object.keys(document['x-retry-categories'])).toContain(retry);
      for (const [status, category] of Object.entries(retryByStatus)) {
        expect(document.info.description).toContain(`| \`${retry}\`; ${status}: \`${category}\` |`);
      }
    }
    const { retryByStatus } = document['x-error-table'].find(({ type }) => type === 'request_error') ?? {};
    expect(retryByStatus).toEqual({ 408: 'with_backoff' });
  });

  test('only a 429 has Retry-After', () => {
    const responses = Object.entries(document.components.responses);
    const withHeader = responses.filter(([, { headers }]) => 'Retry-After' in headers).map(([name]) => name);
    expect(withHeader).toEqual(['429.rate_limit_exceeded', '429.rate_limit_exceeded.quota_exceeded']);
  });

  test('every status has an example message', () => {
    for (const type of errorTypes) expect(errorTable[type].examples.length).toBe(errorTable[type].statuses.length);
  });
});

describe('fields', () => {
  const createBody = document.paths['/sandboxes']?.post?.requestBody;
  const execBody = document.paths['/sandboxes/{id}/exec']?.post?.requestBody;
  const schemaOf = (body: typeof createBody): JsonSchema => body?.content['application/json'].schema ?? {};

  test('optional fields accept null and have a default', () => {
    expect(schemaOf(createBody).properties).toMatchObject({
      size: { type: ['string', 'null'], enum: ['small', 'medium', 'large', null], default: 'small' },
      name: { type: ['string', 'null'], maxLength: 100, default: null },
      timeout_minutes: { type: ['integer', 'null'], minimum: 1, maximum: 1440, default: 15 },
    });
    expect([schemaOf(createBody).required, createBody?.required]).toEqual([undefined, false]);
  });

  test('required fields are marked', () => {
    expect(schemaOf(execBody).properties).toMatchObject({
      command: { type: 'string', minLength: 1, maxLength: 100_000 },
      timeout_ms: { minimum: 1000, maximum: 600_000 },
      cwd: { default: '/workspace' },
      env: { type: ['object', 'null'], additionalProperties: { type: 'string' } },
    });
    expect([schemaOf(execBody).required, execBody?.required]).toEqual([['command'], true]);
  });

  test('parameters have the type of their parsed value', () => {
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

  test('responses allow additional fields, except DeletedSandbox', () => {
    const { DeletedSandbox, ...others } = document.components.schemas;
    expect(DeletedSandbox?.additionalProperties).toBe(false);
    expect(Object.values(others).map((schema) => schema.additionalProperties)).not.toContain(false);
  });
});

describe('limits', () => {
  test('all limits are published in x-limits', () => {
    expect(document['x-limits']).toEqual({ ...defaultLimits, ...fixedLimits });
  });

  test.each([
    ['maxTimeoutMinutes', 77_001],
    ['defaultTimeoutMinutes', 77_002],
    ['commandCharacters', 77_004],
    ['defaultCommandTimeoutMs', 77_005],
    ['maxCommandTimeoutMs', 77_007],
  ] as const)('%s changes the published bodies', (name, value) => {
    expect(JSON.stringify(document.paths)).not.toContain(`${value}`);
    expect(JSON.stringify(withLimits({ [name]: value }).paths)).toContain(`${value}`);
  });

  test.each([
    ['maxPageSize', 77_008],
    ['defaultPageSize', 77_009],
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

  test('the guide explains how to trust the root certificate and how to reach names that do not resolve', () => {
    const text = textFor('https://TOKEN.localhost:8443/');
    expect(text).toContain('curl -o preview-root.crt http://127.0.0.1:8080/preview-root.crt');
    expect(text).toContain('curl --cacert preview-root.crt https://TOKEN.localhost:8443/');
    expect(text).toContain('--resolve TOKEN.localhost:8443:127.0.0.1 https://TOKEN.localhost:8443/');
    expect(textFor('https://TOKEN.localhost/')).toContain('--resolve TOKEN.localhost:443:127.0.0.1');
  });

  test('a public preview domain needs no --resolve', () => {
    expect(textFor('https://TOKEN.preview.example.com/')).not.toContain('--resolve');
  });
});
