import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import { ApiError } from '../../core/errors/api-error.ts';
import { readBody } from './json-body.ts';

type Body = NonNullable<RequestInit['body']>;

const refused = { type: 'request_error', status: 413 };
const admit = async () => {};

test('chunks are joined, whether or not a length was declared', async () => {
  const chunks = fc.array(fc.uint8Array({ minLength: 1, maxLength: 90_000 }), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(chunks, fc.boolean(), fc.integer({ min: -2, max: 2 }), async (list, isDeclared, room) => {
      const whole = Buffer.concat(list);
      const headers = isDeclared ? { 'content-length': String(whole.length) } : {};
      const maxBytes = Math.max(whole.length + room, 0);
      const body = readBody(Readable.from(list.map((chunk) => Buffer.from(chunk))), headers, { maxBytes, admit });
      if (whole.length > maxBytes) await expect(body).rejects.toMatchObject(refused);
      else expect((await body).equals(whole)).toBe(true);
    }),
    { numRuns: 200 },
  );
});

test('a declared length allocates nothing before data arrives', async () => {
  const arrived = Promise.withResolvers<void>();
  const slow = Readable.from(
    (async function* () {
      yield Buffer.from('{');
      arrived.resolve();
      await new Promise(() => {});
    })(),
  );
  const before = process.memoryUsage().arrayBuffers;
  void readBody(slow, { 'content-length': '11000000' }, { maxBytes: 11_000_000, admit });
  await arrived.promise;
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1_000_000);
});

test.each([
  ['of known size is admitted as a whole before it is read', { 'content-length': '100000' }, 100_000, 0],
  ['of unknown size is admitted at the largest size once it is not small', {}, 1_000_000, 40_000],
])('a large body %s', async (_, headers, admittedBytes, readBytes) => {
  const pieces = Array.from({ length: 5 }, () => Buffer.alloc(20_000));
  const source = Readable.from(pieces, { highWaterMark: 1 });
  let read = 0;
  source.on('data', ({ length }: Buffer) => {
    read += length;
  });
  source.pause();
  const asked: number[][] = [];
  const body = await readBody(source, headers, {
    maxBytes: 1_000_000,
    admit: async (bytes) => void asked.push([bytes, read]),
  });
  expect(body.length).toBe(100_000);
  expect(asked).toEqual([[admittedBytes, readBytes]]);
});

test('of a body that is not admitted the rest is discarded', async () => {
  const source = Readable.from(Array.from({ length: 5 }, () => Buffer.alloc(20_000)));
  const refuse = async () => {
    throw new ApiError('rate_limit_exceeded', 'no room');
  };
  const limits = { maxBytes: 1_000_000, admit: refuse };
  await expect(readBody(source, { 'content-length': '100000' }, limits)).rejects.toThrow('no room');
  await once(source, 'end');
});

test('a body that breaks off is a request_error', async () => {
  const broken = Readable.from(
    (async function* () {
      yield Buffer.from('{');
      throw new Error('aborted');
    })(),
  );
  await expect(readBody(broken, {}, { maxBytes: 10, admit })).rejects.toMatchObject({
    type: 'request_error',
    status: 400,
  });
});

test('an endless body is cut off', async () => {
  for (const headers of [{}, { 'content-length': String(10 ** 12) }]) {
    let read = 0;
    const endless = new Readable({
      read(bytes) {
        read += bytes;
        this.push(Buffer.alloc(bytes));
      },
    });
    await expect(readBody(endless, headers, { maxBytes: 1_000, admit })).rejects.toMatchObject(refused);
    await once(endless, 'close');
    expect(read).toBeLessThan(70 * 1024 ** 2);
  }
});

describe('over a socket', () => {
  let service: Awaited<ReturnType<typeof stubService>>;
  let url: string;
  beforeEach(async () => {
    service = await stubService();
    url = await service.app.listen({ port: 0, host: '127.0.0.1' });
  });
  afterEach(() => service[Symbol.asyncDispose]());

  const send = (method: string, path: string, body: Body) => {
    const headers = { authorization: `Bearer ${service.key}` };
    return fetch(`${url}/v1${path}`, { method, headers, body, duplex: 'half' });
  };
  const chunks = (count: number) =>
    Readable.toWeb(Readable.from(Array.from({ length: count }, () => Buffer.alloc(1024 ** 2, ' ')))) as Body;

  test.each([
    ['PUT', '/sandboxes/sbx_x/files', 11_219_763],
    ['POST', '/sandboxes', 1_048_576],
  ])('the sender of a %s %s body that is too large receives the response', async (method, path, maxBytes) => {
    for (const body of [Buffer.alloc(maxBytes + 1), Buffer.alloc(30 * 1024 ** 2), chunks(12), chunks(30)]) {
      const answer = await send(method, path, body);
      expect(answer.status).toBe(413);
      expect(await answer.json()).toMatchObject({ error: { type: 'request_error' } });
    }
  });

  test('a declared length that is too large is refused before the body arrives, and the connection stays open', async () => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    const head = (bytes: number) =>
      `PUT /v1/sandboxes/sbx_x/files HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${service.key}\r\ncontent-length: ${bytes}\r\n\r\n`;
    const statuses: string[] = [];
    socket.on('data', (chunk: Buffer) => statuses.push(...(chunk.toString().match(/HTTP\/1.1 \d+/g) ?? [])));
    socket.write(head(12_000_000));
    await vi.waitFor(() => expect(statuses).toEqual(['HTTP/1.1 413']), { timeout: 30_000 });
    socket.write(Buffer.alloc(12_000_000));
    socket.write(`${head(1)}{`);
    await vi.waitFor(() => expect(statuses).toEqual(['HTTP/1.1 413', 'HTTP/1.1 400']), { timeout: 30_000 });
    socket.destroy();
  });

  test('a chunked body is read like any other', async () => {
    const { id } = (await (await send('POST', '/sandboxes', '{}')).json()) as { id: string };
    const content = 'ä\n'.repeat(500_000);
    const json = Buffer.from(JSON.stringify({ path: 'a', content }));
    const cut = Array.from({ length: 100 }, (_, at) =>
      json.subarray(at * 20_000, at < 99 ? (at + 1) * 20_000 : undefined),
    );
    const answer = await send('PUT', `/sandboxes/${id}/files`, Readable.toWeb(Readable.from(cut)) as Body);
    expect(answer.status).toBe(201);
    expect(service.connector.files.contents.get('/workspace/a')?.toString()).toBe(content);
    const read = await fetch(`${url}/v1/sandboxes/${id}/files?path=a`, {
      headers: { authorization: `Bearer ${service.key}` },
    });
    expect(((await read.json()) as { content: string }).content).toBe(content);
  });

  test('a client that disconnects while reading a file releases its connection', async () => {
    const { id } = (await service.call('POST', '/v1/sandboxes')).body;
    service.connector.files.contents.set('/workspace/a', Buffer.alloc(8 * 1024 ** 2, 'x'));
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    const head = `GET /v1/sandboxes/${id}/files?path=a HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${service.key}\r\n\r\n`;
    socket.write(head);
    await once(socket, 'data');
    socket.destroy();
    const connections = promisify(service.app.server.getConnections.bind(service.app.server));
    await vi.waitFor(async () => expect(await connections()).toBe(0), { timeout: 30_000 });
  });
});
