import { once } from 'node:events';
import { Agent } from 'node:https';
import { PassThrough, type Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSandbox, type SandboxBody } from '../support/http.ts';
import { startNodeServer } from '../support/previews/guest-server.ts';
import { type OpenPreview, openPreview } from '../support/previews/open-preview.ts';
import { routeTo } from '../support/previews/route.ts';
import { exchangeMessage, openSocket } from '../support/previews/socket.ts';
import { begin, protocols, visit, visitJson } from '../support/previews/visit.ts';
import { startTestService, type TestService } from '../support/service.ts';

const port = 3000;
let service: TestService;
let sandbox: SandboxBody;
let preview: OpenPreview;
beforeAll(async () => {
  service = await startTestService();
  sandbox = await createSandbox(service);
  await startNodeServer(service, sandbox.id, port);
  preview = await openPreview(service, sandbox.id, port);
});
afterAll(() => service.stop());

/** What comes next of a body, as text. */
const nextOf = async (body: Readable): Promise<string> => {
  const [piece] = (await once(body, 'data', { signal: AbortSignal.timeout(30_000) })) as [Buffer];
  return piece.toString('utf8');
};

describe.each(protocols)('over %s', (protocol) => {
  it('events of a server arrive one by one, as they are sent', async () => {
    const { status, headers, body } = await begin(preview, '/events', { protocol });
    expect([status, headers['content-type']]).toEqual([200, 'text/event-stream']);
    expect(await nextOf(body)).toBe(': open\n\n');
    for (const text of ['first', 'second', 'third']) {
      const arrived = nextOf(body);
      // The server says it only now: what arrives was held back by nobody.
      await visit(preview, '/say', { method: 'POST', body: text, protocol });
      expect(await arrived).toBe(`data: ${text}\n\n`);
    }
    body.destroy();
  });

  it('a body without a known length goes up piece by piece while the answer comes down', async () => {
    const pieces = new PassThrough();
    const { status, body } = await begin(preview, '/echo', { method: 'POST', body: pieces, protocol });
    expect(status).toBe(200);
    for (const text of ['one', 'two', 'three']) {
      const arrived = nextOf(body);
      pieces.write(text);
      expect(await arrived).toBe(text);
    }
    const ended = once(body, 'end');
    pieces.end();
    await ended;
  });

  it('status, headers and cookies of an answer are passed on; those of one connection only are not', async () => {
    const { status, headers, text } = await visit(preview, '/headers', { protocol });
    expect([status, text]).toEqual([418, 'short and stout']);
    expect(headers['set-cookie']).toEqual(['a=1; Path=/', 'b=2']);
    expect(headers['x-own']).toBe('kept');
    expect(headers['x-hop']).toBeUndefined();
    expect(headers.location).toBe(new URL('/elsewhere', preview.url).href);
  });

  it('an answer that breaks off in the sandbox breaks off for its visitor', async () => {
    await expect(visit(preview, '/break', { protocol })).rejects.toThrow();
  });

  it('an answer without a body ends at once', async () => {
    const { status, headers, text } = await visit(preview, '/bytes?count=1000', { method: 'HEAD', protocol });
    expect([status, headers['content-length'], text]).toEqual([200, '1000', '']);
  });

  it('a body with a length is sent on with its length', async () => {
    const upload = { method: 'POST', body: 'x'.repeat(10), headers: { 'content-length': 10 }, protocol };
    const { length, encoding, bytes } = await visitJson<Record<string, unknown>>(preview, '/upload', upload);
    expect({ length, encoding, bytes }).toEqual({ length: '10', bytes: 10 });
  });
});

it('a WebSocket carries text and bytes both ways', async () => {
  const socket = await openSocket(preview);
  expect(await exchangeMessage(socket, 'over and')).toBe('back: over and');
  const bytes = Buffer.alloc(1024 ** 2, 'binary');
  const echoed = once(socket, 'message') as Promise<[Buffer, boolean]>;
  socket.send(bytes);
  const [back, isBinary] = await echoed;
  expect([bytes.equals(back), isBinary]).toEqual([true, true]);
  const closed = once(socket, 'close');
  socket.close(4_000, 'enough');
  expect((await closed)[0]).toBe(4_000);
});

it('a connection is kept for the next request, on both sides of the gateway', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ...routeTo(preview) });
  const seen = () => visitJson<{ readonly connections: number }>(preview, '/seen', { agent });
  const { connections } = await seen();
  for (let request = 0; request < 5; request += 1) expect((await seen()).connections).toBe(connections);
  expect(Object.values(agent.freeSockets).flat()).toHaveLength(1);
  agent.destroy();
});
