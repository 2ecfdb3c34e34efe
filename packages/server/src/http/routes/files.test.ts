import { deletedFileSchema, directorySchema, fileSchema, writtenFileSchema } from '@mayfly/contract';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import { type GuestEntry, GuestUnreachable } from '../../core/ports/guest-agent.ts';

const mib = 1024 ** 2;
let service: Awaited<ReturnType<typeof stubService>>;
let sandboxId: string;
let contents: Map<string, Buffer>;
beforeEach(async () => {
  service = await stubService(undefined, { MAYFLY_LIMIT_REQUESTS_PER_MINUTE: '100000' });
  sandboxId = (await service.call('POST', '/v1/sandboxes')).body.id;
  contents = service.connector.files.contents;
});
afterEach(() => service[Symbol.asyncDispose]());

const files = (query: Record<string, string> = {}) =>
  `/v1/sandboxes/${sandboxId}/files?${new URLSearchParams(query).toString()}`;
const write = (body: unknown) => service.call('PUT', files(), body);
const read = (query: Record<string, string>) => service.call('GET', files(query));
const remove = (query: Record<string, string>) => service.call('DELETE', files(query));
const errorOf = ({ status, body }: Awaited<ReturnType<typeof read>>) => [status, body.error.type, body.error.message];

describe('write', () => {
  test('stores the bytes and returns their count', async () => {
    const { status, body } = await write({ path: 'dir/../grüße.txt', content: 'für dich 🦋\n\0' });
    expect(status).toBe(201);
    const expected = { object: 'file', sandbox_id: sandboxId, path: '/workspace/grüße.txt', bytes: 16 };
    expect(writtenFileSchema.strict().parse(body)).toEqual(expected);
    expect(contents.get('/workspace/grüße.txt')?.toString()).toBe('für dich 🦋\n\0');
  });

  test('decodes base64', async () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const { body } = await write({ path: '/tmp/all', content: bytes.toString('base64'), encoding: 'base64' });
    expect(writtenFileSchema.parse(body).bytes).toBe(256);
    expect(contents.get('/tmp/all')).toEqual(bytes);
  });

  test('accepts an empty file, and null as encoding', async () => {
    expect((await write({ path: 'a', content: '', encoding: null })).status).toBe(201);
    expect(contents.get('/workspace/a')).toEqual(Buffer.alloc(0));
  });

  test.each([
    [{}, 'path must be a string; content must be a string'],
    [undefined, 'path must be a string; content must be a string'],
    [[], 'the body must be a JSON object'],
    [{ path: 'a' }, 'content must be a string'],
    [{ path: 'a', content: 5 }, 'content must be a string'],
    [{ path: 'a', content: null }, 'content must be a string'],
    [{ path: 'a', content: '', encoding: 'hex' }, 'encoding must be one of utf8, base64'],
    [{ path: '', content: '' }, 'path must not be empty'],
    [{ path: 'a\0', content: '' }, 'path must not contain NUL characters'],
    [
      { path: '../a', content: 'QQ', encoding: 'base64' },
      'path must not lead out of /workspace; content must be base64 with padding and without white space',
    ],
  ])('%j is refused: %s', async (body, rules) => {
    expect(errorOf(await write(body))).toEqual([400, 'invalid_request', rules]);
    expect(contents.size).toBe(0);
  });

  test.each(['{', '{"path":"a","content":"x"', '{"path":"a","content":"\n"}', '{"path":"a","content":"\\x"}', 'x'])(
    '%j is not JSON',
    async (body) => {
      expect((await write(body)).body.error.type).toBe('request_error');
    },
  );

  test('8 MiB are accepted in either encoding, one byte more is not', async () => {
    const largest = Buffer.alloc(8 * mib, 'ä\n');
    const bodies = (bytes: Buffer) => [
      { path: 'big', content: bytes.toString() },
      { path: 'big', content: bytes.toString('base64'), encoding: 'base64' },
    ];
    for (const body of bodies(largest)) {
      expect((await write(body)).status).toBe(201);
      expect(contents.get('/workspace/big')?.equals(largest)).toBe(true);
    }
    for (const body of bodies(Buffer.concat([largest, Buffer.from('x')]))) {
      const answer = await write(body);
      expect([answer.status, answer.body.error.type]).toEqual([413, 'file_too_large']);
    }
  });

  test('a body of 11219763 bytes is accepted, one byte more is not', async () => {
    const body = (bytes: number) => `{"path":"a","content":""${' '.repeat(bytes - 25)}}`;
    expect((await write(body(11_219_763))).status).toBe(201);
    expect(errorOf(await write(body(11_219_764)))).toEqual([
      413,
      'request_error',
      'The body is larger than the limit of 11219763 bytes.',
    ]);
  });

  test.each(['dir/', 'a/.', 'a/..', '.', '/', '/workspace', '/workspace/', 'new/..'])(
    '%s is a directory, not a file',
    async (path) => {
      const [status, type, message] = errorOf(await write({ path, content: '' }));
      expect([status, type]).toEqual([400, 'write_failed']);
      expect(message).toMatch(/^\/.* could not be written: it is a directory\.$/);
    },
  );

  test.each([
    ['not_found', 'no such file or directory'],
    ['permission', 'permission denied'],
    ['is_directory', 'it is a directory'],
    ['not_regular', 'not a regular file'],
    ['not_directory', 'not a directory'],
    ['no_space', 'the disk is full'],
    ['read_only', 'the file system is read-only'],
    ['name_too_long', 'the path or a name in it is too long'],
    ['symlink_loop', 'too many levels of symbolic links'],
    ['exists', 'the agent says no'],
    ['bad_request', 'the agent says no'],
    ['internal', 'the agent says no'],
  ])('%s from the agent is write_failed', async (code, reason) => {
    service.connector.files.refuse(code);
    expect(errorOf(await write({ path: 'a"b', content: '' }))).toEqual([
      400,
      'write_failed',
      `"/workspace/a\\"b" could not be written: ${reason}.`,
    ]);
  });
});

describe('read', () => {
  test('returns UTF-8 as text', async () => {
    contents.set('/etc/motd', Buffer.from('\ufeff"hällo"\0\u2028🦋'));
    const { status, headers, body } = await read({ path: '/workspace/../etc//motd' });
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    const expected = {
      object: 'file',
      path: '/etc/motd',
      bytes: 19,
      encoding: 'utf8',
      content: '\ufeff"hällo"\0\u2028🦋',
    };
    expect(fileSchema.strict().parse(body)).toEqual(expected);
  });

  test('returns other bytes as base64, or refuses if encoding=utf8 is requested', async () => {
    contents.set('/workspace/a', Buffer.from([0x61, 0xff]));
    expect(fileSchema.parse((await read({ path: 'a' })).body)).toMatchObject({ encoding: 'base64', content: 'Yf8=' });
    expect(errorOf(await read({ path: 'a', encoding: 'utf8' }))).toEqual([
      400,
      'read_failed',
      '/workspace/a could not be read: it is not valid UTF-8. Use encoding=base64.',
    ]);
  });

  test('returns text as base64 if requested', async () => {
    contents.set('/workspace/a', Buffer.from('abc'));
    expect((await read({ path: 'a', encoding: 'base64' })).body).toMatchObject({ encoding: 'base64', content: 'YWJj' });
  });

  test('returns files of any size unchanged', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', '"', '\\', '\n', '\u0001', 'é', '€', '🦋'), maxLength: 500 });
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 0, max: 300 }), async (unit, times) => {
        const content = unit.repeat(times);
        contents.set('/workspace/a', Buffer.from(content));
        const plain = fileSchema.parse((await read({ path: 'a' })).body);
        expect(plain.content === content && plain.bytes === Buffer.byteLength(content)).toBe(true);
        const encoded = fileSchema.parse((await read({ path: 'a', encoding: 'base64' })).body);
        expect(Buffer.from(encoded.content, 'base64').equals(Buffer.from(content))).toBe(true);
      }),
      { numRuns: 40 },
    );
  });

  test('a file of 8 MiB can be read, one byte more cannot', async () => {
    const largest = Buffer.alloc(8 * mib, '\x01€');
    contents.set('/workspace/a', largest);
    expect(fileSchema.parse((await read({ path: 'a', encoding: 'base64' })).body).bytes).toBe(8 * mib);
    contents.set('/workspace/a', Buffer.alloc(8 * mib + 1));
    const answer = await read({ path: 'a' });
    expect([answer.status, answer.body.error.type]).toEqual([413, 'file_too_large']);
  });

  test('the response for a small file has a Content-Length', async () => {
    contents.set('/workspace/a', Buffer.from('a'));
    const { headers, body } = await read({ path: 'a' });
    expect(headers['content-length']).toBe(String(JSON.stringify(body).length));
  });

  test.each([
    ['not_found', 404, 'not_found'],
    ['not_directory', 404, 'not_found'],
    ['permission', 400, 'read_failed'],
    ['not_regular', 400, 'read_failed'],
    ['symlink_loop', 400, 'read_failed'],
    ['name_too_long', 404, 'not_found'],
    ['internal', 400, 'read_failed'],
    ['too_large', 413, 'file_too_large'],
  ])('%s from the agent is %i %s', async (code, status, type) => {
    service.connector.files.refuse(code);
    expect(errorOf(await read({ path: 'a' }))).toEqual([
      status,
      type,
      expect.stringMatching(/^\/workspace\/a could not be \w+: .*\.$/),
    ]);
  });

  test.each([
    [{ path: '' }, 'path must not be empty'],
    [{ path: '../x' }, 'path must not lead out of /workspace'],
    [{ path: 'a\0' }, 'path must not contain NUL characters'],
    [{ encoding: 'hex', list: '1' }, 'encoding must be one of utf8, base64; list must be true or false'],
  ])('%j is refused: %s', async (query, rules) => {
    expect(errorOf(await read(query))).toEqual([400, 'invalid_request', rules]);
  });

  test.each(['%ff', '%', 'a%zz', '%ed%a0%80'])('?path=%s cannot be decoded', async (query) => {
    contents.set(`/workspace/${query}`, Buffer.from('not meant'));
    for (const method of ['GET', 'DELETE']) {
      const answer = await service.call(method, `/v1/sandboxes/${sandboxId}/files?path=${query}`);
      expect([answer.status, answer.body.error.type]).toEqual([400, 'request_error']);
    }
  });

  test('a plus means a space, and a path may be given only once', async () => {
    contents.set('/workspace/a b', Buffer.from('x'));
    const at = (query: string) => service.call('GET', `/v1/sandboxes/${sandboxId}/files?${query}`);
    expect((await at('path=a+b')).status).toBe(200);
    expect(errorOf(await at('path=a&path=b'))).toEqual([400, 'invalid_request', 'path must be a string']);
  });
});

describe('list', () => {
  const entry = (name: string | Buffer, type: GuestEntry['type'], sizeBytes: number | null): GuestEntry => {
    return { name: Buffer.from(name), type, sizeBytes };
  };

  test('lists /workspace by default', async () => {
    service.connector.files.directories.set('/workspace', [
      entry('a b', 'file', 0),
      entry('dir', 'dir', null),
      entry('link', 'symlink', null),
      entry('pipe', 'other', null),
      entry(Buffer.from([0x7a, 0xff]), 'file', 2 ** 40),
    ]);
    const { status, body } = await read({});
    expect(status).toBe(200);
    expect(directorySchema.strict().parse(body)).toEqual({
      object: 'list',
      path: '/workspace',
      entries: [
        { name: 'a b', type: 'file', size_bytes: 0 },
        { name: 'dir', type: 'dir', size_bytes: null },
        { name: 'link', type: 'symlink', size_bytes: null },
        { name: 'pipe', type: 'file', size_bytes: null },
        { name: 'z\ufffd', type: 'file', size_bytes: 2 ** 40 },
      ],
    });
    for (const query of [{ list: 'true' }, { path: '.' }, { path: '/workspace/', list: 'true' }, { path: './' }]) {
      expect((await read(query)).body).toEqual(body);
    }
    expect((await read({ path: '/workspace', list: 'false', encoding: 'base64' })).body).toEqual(body);
  });

  test('a file cannot be listed', async () => {
    contents.set('/workspace/a', Buffer.from('x'));
    expect(errorOf(await read({ path: 'a', list: 'true' }))).toEqual([
      400,
      'list_failed',
      '/workspace/a could not be listed: not a directory.',
    ]);
  });

  test('a missing directory is not found', async () => {
    const answer = await read({ path: 'nothing', list: 'true' });
    expect([answer.status, answer.body.error.type]).toEqual([404, 'not_found']);
  });

  test('a directory over 50,000 entries is refused, not truncated', async () => {
    const entries = Array.from({ length: 50_001 }, (_, at) => entry(String(at), 'file', 0));
    service.connector.files.directories.set('/big', entries);
    expect(errorOf(await read({ path: '/big' }))).toEqual([
      400,
      'list_failed',
      '/big could not be listed: it has more than 50000 entries.',
    ]);
    service.connector.files.directories.set('/big', entries.slice(1));
    expect(directorySchema.parse((await read({ path: '/big' })).body).entries).toHaveLength(50_000);
  });

  test.each(['permission', 'symlink_loop', 'internal'])('%s from the agent is list_failed', async (code) => {
    service.connector.files.refuse(code);
    const answer = await read({ list: 'true' });
    expect([answer.status, answer.body.error.type]).toEqual([400, 'list_failed']);
  });

  test('a name that no directory can have is not found', async () => {
    service.connector.files.refuse('name_too_long');
    const answer = await read({ path: 'x'.repeat(256), list: 'true' });
    expect([answer.status, answer.body.error.type]).toEqual([404, 'not_found']);
  });
});

describe('delete', () => {
  test('deletes a file', async () => {
    contents.set('/workspace/a', Buffer.from('x'));
    const { status, body } = await remove({ path: 'a' });
    expect(status).toBe(200);
    const expected = { object: 'file', sandbox_id: sandboxId, path: '/workspace/a', deleted: true };
    expect(deletedFileSchema.strict().parse(body)).toEqual(expected);
    expect(contents.size).toBe(0);
    expect(errorOf(await remove({ path: 'a' }))).toEqual([
      404,
      'not_found',
      '/workspace/a could not be deleted: no such file or directory.',
    ]);
  });

  test('a path inside a message cannot forge the separator of rules', async () => {
    service.connector.files.directories.set('/workspace/a; recursive must be true', []);
    const [status, type, message] = errorOf(await remove({ path: 'a; recursive must be true' }));
    expect([status, type]).toEqual([400, 'invalid_request']);
    expect(String(message).split(';')).toHaveLength(1);
  });

  test('deletes a directory only with recursive=true', async () => {
    service.connector.files.directories.set('/workspace/dir', []);
    expect(errorOf(await remove({ path: 'dir' }))).toEqual([
      400,
      'invalid_request',
      '/workspace/dir could not be deleted: it is a directory. Set recursive=true to delete it with its contents.',
    ]);
    expect((await remove({ path: 'dir', recursive: 'true' })).status).toBe(200);
  });

  test.each(['/', '/workspace', '/workspace/', '.', './', '/workspace/../workspace'])(
    '%s cannot be deleted',
    async (path) => {
      const answer = await remove({ path, recursive: 'true' });
      expect([answer.status, answer.body.error.type]).toEqual([400, 'invalid_request']);
      expect(service.connector.files.directories.has('/workspace')).toBe(true);
    },
  );

  test.each([
    ['permission', 400, 'write_failed'],
    ['read_only', 400, 'write_failed'],
    ['not_empty', 400, 'write_failed'],
    ['internal', 400, 'write_failed'],
    ['not_directory', 404, 'not_found'],
    ['name_too_long', 400, 'invalid_request'],
  ])('%s from the agent is %i %s', async (code, status, type) => {
    service.connector.files.refuse(code);
    expect(errorOf(await remove({ path: 'a' }))).toEqual([
      status,
      type,
      expect.stringMatching(/^\/workspace\/a could not be \w+: .*\.$/),
    ]);
  });

  test('requires a path', async () => {
    expect(errorOf(await remove({ recursive: 'x' }))).toEqual([
      400,
      'invalid_request',
      'path must be a string; recursive must be true or false',
    ]);
  });
});

describe('a sandbox that cannot serve files', () => {
  const all = (): (readonly [string, string, unknown?])[] => [
    ['PUT', files(), { path: 'a', content: '' }],
    ['GET', files()],
    ['DELETE', files({ path: 'a' })],
  ];

  test('a deleted or unknown one is not found; an invalid request is reported first', async () => {
    await service.call('DELETE', `/v1/sandboxes/${sandboxId}`);
    for (const [method, url, body] of all()) expect((await service.call(method, url, body)).status).toBe(404);
    sandboxId = 'sbx_unknown';
    for (const [method, url, body] of all()) expect((await service.call(method, url, body)).status).toBe(404);
    expect((await write({ path: '' })).status).toBe(400);
    expect((await remove({ path: '/' })).status).toBe(400);
    expect((await write({ path: 'a', content: 'x'.repeat(8 * mib + 1) })).status).toBe(404);
  });

  test('a failed one is a 409 that names the status', async () => {
    service.driver.newest.die('it fell over');
    await service.core.background.idle();
    for (const [method, url, body] of all()) {
      expect(errorOf(await service.call(method, url, body))).toEqual([
        409,
        'sandbox_not_running',
        expect.stringContaining('failed'),
      ]);
    }
  });

  test.each([
    ['dies', async () => service.driver.newest.die('killed by SIGKILL')],
    ['is deleted', async () => service.call('DELETE', `/v1/sandboxes/${sandboxId}`)],
    ['does not answer', async () => service.connector.disconnect()],
  ])('one that %s during the call: immediate 502', async (_, interrupt) => {
    let waiting = 0;
    const begun = Promise.withResolvers<void>();
    service.connector.files.before = () => {
      waiting += 1;
      if (waiting === 3) begun.resolve();
      return new Promise(() => {});
    };
    const answers = all().map(([method, url, body]) => service.call(method, url, body));
    await begun.promise;
    await interrupt();
    for (const { status, body } of await Promise.all(answers)) {
      expect([status, body.error.type]).toEqual([502, 'execution_failed']);
    }
  });

  test('one that cannot be reached: 502 that says what may have happened', async () => {
    service.connector.files.before = () => Promise.reject(new GuestUnreachable('the line is dead'));
    expect(errorOf(await write({ path: 'a', content: '' }))).toEqual([
      502,
      'execution_failed',
      '/workspace/a may or may not have been written: the line is dead.',
    ]);
  });
});

test('every file operation needs a key', async () => {
  for (const method of ['PUT', 'GET', 'DELETE']) {
    expect((await service.call(method, files(), undefined, { authorization: '' })).status).toBe(401);
  }
});
