import { describe, expect, it } from 'vitest';
import { type ApiResponse, expectError, expectStatus } from '../../support/conformance/api.ts';
import { useTarget } from '../../support/conformance/target.ts';

const target = useTarget({ sandbox: true });
/** 1 MB and 10.7 MiB, in bytes. */
const generalLimit = 1_048_576;
const fileLimit = Math.floor(10.7 * 1_048_576);

function extend(
  raw: string | Buffer | readonly Buffer[],
  headers: Record<string, string> = {},
): Promise<ApiResponse<unknown>> {
  return target.api.post(`/sandboxes/${target.sandbox.id}/extend`, undefined, { raw, headers });
}

/** Pads JSON to this number of bytes. */
function padded(json: string, bytes: number): string {
  return json + ' '.repeat(bytes - Buffer.byteLength(json));
}

const small = '{"additional_minutes":1}';

describe('malformed JSON: 400 request_error', () => {
  it.each([
    ['cut off', '{"additional_minutes":'],
    ['two values', '{} {}'],
    ['single quotes', "{'additional_minutes':1}"],
    ['a trailing comma', '{"additional_minutes":1,}'],
    ['NaN', '{"additional_minutes":NaN}'],
    ['not JSON', 'additional_minutes=1'],
    ['NUL', '\0'],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ])('%s', async (_what, raw) => {
    expectError(await extend(raw), 400, 'request_error');
  });

  it('is reported before the sandbox is looked up', async () => {
    const { api } = target;
    for (const path of ['/sandboxes/sbx_unknown/exec', '/sandboxes/sbx_unknown/ports', '/sandboxes']) {
      expectError(await api.post(path, undefined, { raw: '{' }), 400, 'request_error');
    }
    expectError(await api.put('/sandboxes/sbx_unknown/files', undefined, { raw: '{' }), 400, 'request_error');
  });
});

describe('all bodies are JSON', () => {
  it('with any Content-Type, or none', async () => {
    for (const type of [
      'application/json; charset=utf-8',
      'text/plain',
      'application/x-www-form-urlencoded',
      'no type',
      '',
    ]) {
      expectStatus(await extend(small, { 'content-type': type }), 200);
    }
  });

  it('white space is an empty body; null, unknown fields and __proto__ are accepted', async () => {
    for (const raw of [
      '',
      ' \n',
      'null',
      '{"additional_minutes":null}',
      '{"x":{"y":[]},"__proto__":{"additional_minutes":-1}}',
    ]) {
      expectStatus(await extend(raw), 200);
    }
  });

  it('a body that is not an object: 400 invalid_request', async () => {
    for (const raw of ['[]', '"text"', '5', 'true']) expectError(await extend(raw), 400, 'invalid_request');
  });

  it('deep nesting is handled', async () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    expect([200, 400]).toContain((await extend(`{"x":${deep}}`)).status);
  });
});

describe('request bodies over 1 MB: 413 request_error', () => {
  it('1,048,576 bytes are accepted, one more is not, with or without Content-Length', async () => {
    expectStatus(await extend(padded(small, generalLimit)), 200);
    expectStatus(await extend([Buffer.from(padded(small, generalLimit))]), 200);
    expectError(await extend(padded(small, generalLimit + 1)), 413, 'request_error');
    expectError(await extend([Buffer.from(padded(small, generalLimit)), Buffer.from(' ')]), 413, 'request_error');
  });

  it('on every other route with a body, before the sandbox is looked up', async () => {
    const { api } = target;
    const raw = padded('{}', generalLimit + 1);
    for (const path of ['/sandboxes', '/sandboxes/sbx_unknown/exec', '/sandboxes/sbx_unknown/ports']) {
      expectError(await api.post(path, undefined, { raw }), 413, 'request_error');
    }
  });

  it('the file routes accept up to 10.7 MiB', async () => {
    const { api, sandbox } = target;
    const json = '{"path":"padded","content":"small"}';
    const put = (bytes: number) => api.put(`/sandboxes/${sandbox.id}/files`, undefined, { raw: padded(json, bytes) });
    expectStatus(await put(fileLimit), 201);
    expectError(await put(fileLimit + 1), 413, 'request_error');
  });
});
