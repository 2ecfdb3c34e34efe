import { type Duplex, Readable } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  answerAttach,
  attachTo,
  ended,
  frame,
  type Handler,
  openPeer,
  type Peer,
  respondJson,
  serve,
} from '../../test/guest/peer.ts';
import { type GuestAgent, GuestRefusal, GuestUnreachable } from '../core/ports/guest-agent.ts';
import { createGuestConnector } from './connector.ts';

const agents: GuestAgent[] = [];
afterEach(() => {
  for (const agent of agents.splice(0)) agent.close();
});

async function attached(peer: Peer, handler: Handler, now?: () => number): Promise<GuestAgent> {
  const serving = serve(peer, handler);
  const agent = await attachTo(peer, 5_000, now === undefined ? {} : { now });
  await serving;
  agents.push(agent);
  return agent;
}

async function readAll(stream: Duplex): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const executionBody = Buffer.concat([frame(0, { started_at_ms: 1 }), frame(1, 'hi'), frame(3, ended)]);
const execute = { id: 'exec_1', command: 'echo hi', cwd: '/workspace', env: {}, timeoutMs: 1_000, captureBytes: 1_000 };

describe('attach', () => {
  it('attaches and drops what an earlier connection left behind', async () => {
    const peer = await openPeer();
    const attaching = attachTo(peer);
    const { performServerHandshake } = await import('node:http2');
    await answerAttach(peer, Buffer.concat([Buffer.alloc(3_000_000, 'x'), Buffer.from('MAYFLY-SYNC 0123\n')]));
    const session = performServerHandshake(peer.data);
    session.on('stream', (stream) => respondJson(stream, 200, { protocol: 1, version: 'v', kernel: 'k', boot_ms: 7 }));
    const agent = await attaching;
    expect(await agent.hello()).toEqual({ protocol: 1, bootMs: 7 });
    agent.close();
    await agent.closed;
    expect(peer.closed()).toBe(true);
  });

  it('loses no byte that arrives in one chunk with the marker', async () => {
    const peer = await openPeer();
    const attaching = attachTo(peer);
    const { performServerHandshake } = await import('node:http2');
    const { duplexPair } = await import('node:stream');
    const [near, far] = duplexPair();
    const session = performServerHandshake(far, { settings: { maxConcurrentStreams: 77 } });
    session.on('stream', (stream) => respondJson(stream, 200, { protocol: 1, version: 'v', kernel: 'k', boot_ms: 7 }));
    // The server's first frame, in the same write as the marker: without it the session would never come up.
    const firstFrames: Buffer = await new Promise((resolve) => near.once('data', resolve));
    near.pause();
    await answerAttach(peer, Buffer.from('noise'), firstFrames);
    peer.data.pipe(near).pipe(peer.data);
    const agent = await attaching;
    expect((await agent.hello()).bootMs).toBe(7);
    agent.close();
  });

  it('repeats the attach line until a guest that wakes up late answers', async () => {
    const peer = await openPeer();
    let lines = 0;
    peer.control.on('data', (chunk: Buffer) => {
      lines += chunk.toString().split('attach ').length - 1;
    });
    const attaching = attachTo(peer, 5_000, { deadlines: { attachRepeatMs: 5 } });
    await vi.waitFor(() => expect(lines).toBeGreaterThan(3), { timeout: 30_000, interval: 5 });
    const serving = serve(peer, () => {});
    const agent = await attaching;
    await serving;
    agent.close();
  });

  it.each([
    ['started', () => 'started', 'the agent was restarted'],
    ['ended', (nonce: string) => `ended ${nonce}`, 'the agent ended the session'],
  ])('closes the connection at once when the control port says "%s"', async (_, line, reason) => {
    const peer = await openPeer();
    const agent = await attached(peer, () => {});
    const call = agent.execute(execute);
    peer.control.write(`${line(await peer.nonce)}\n`);
    await expect(call).rejects.toThrow(reason);
    await agent.closed;
    expect(peer.closed()).toBe(true);
  });

  it('ignores control lines of earlier sessions and lines that are too long', async () => {
    const peer = await openPeer();
    peer.control.write('\nstarted\n');
    const agent = await attached(peer, () => {});
    peer.control.write(`ended ${'f'.repeat(32)}\n${'x'.repeat(100)}started\nstarted again\n`);
    for (let round = 0; round < 5; round += 1) expect((await agent.hello()).protocol).toBe(1);
  });

  it('runs a command', async () => {
    let asked: unknown;
    const agent = await attached(await openPeer(), async (stream) => {
      asked = JSON.parse((await readAll(stream)).toString());
      stream.respond({ ':status': 200 });
      stream.end(executionBody);
    });
    const result = await agent.execute({ ...execute, env: { A: 'b' } });
    expect(result).toMatchObject({ exitCode: 0, timedOut: false, durationMs: 5 });
    expect(result.stdout.toString()).toBe('hi');
    expect(asked).toEqual({
      id: 'exec_1',
      command: 'echo hi',
      cwd: '/workspace',
      env: { A: 'b' },
      timeout_ms: 1_000,
      capture_bytes: 1_000,
      stdin: false,
    });
  });

  it('resumes a command, and forgets it once or twice', async () => {
    const calls: string[] = [];
    const agent = await attached(await openPeer(), (stream, path, method) => {
      calls.push(`${method} ${path}`);
      if (method === 'GET') {
        stream.respond({ ':status': 200 });
        stream.end(executionBody);
      } else if (calls.length === 2) {
        stream.respond({ ':status': 204 }, { endStream: true });
      } else respondJson(stream, 404, { code: 'not_found', message: 'no such execution' });
    });
    expect((await agent.resumeExecution('exec_1', 100)).stdout.toString()).toBe('hi');
    await agent.forgetExecution('exec_1');
    await agent.forgetExecution('exec_1');
    expect(calls).toEqual(['GET /executions/exec_1', 'DELETE /executions/exec_1', 'DELETE /executions/exec_1']);
  });

  it('reports the code of a refusal', async () => {
    const agent = await attached(await openPeer(), (stream) => {
      stream.resume();
      respondJson(stream, 400, { code: 'bad_cwd', message: 'no such directory' });
    });
    const refused = agent.execute(execute);
    await expect(refused).rejects.toBeInstanceOf(GuestRefusal);
    await expect(refused).rejects.toMatchObject({ code: 'bad_cwd', message: 'no such directory' });
  });

  it('writes and reads back 20 MB', async () => {
    const files = new Map<string, Buffer>();
    const agent = await attached(await openPeer(), async (stream, path, method) => {
      if (method === 'PUT') {
        const content = await readAll(stream);
        files.set(path, content);
        respondJson(stream, 200, { path: '/workspace/a b', bytes: content.length });
      } else {
        const content = files.get(path) ?? Buffer.alloc(0);
        stream.respond({ ':status': 200, 'mayfly-size': content.length });
        stream.end(content);
      }
    });
    const content = Buffer.alloc(20_000_000, 'mayfly');
    expect(await agent.writeFile('a b&é', content, 30_000_000)).toEqual({ sizeBytes: content.length });
    expect([...files.keys()]).toEqual(['/files?path=a%20b%26%C3%A9&max_bytes=30000000']);
    expect((await agent.readFile('a b&é', 30_000_000)).equals(content)).toBe(true);
  });

  it('writes and reads eight files of 8 MiB concurrently', async () => {
    const files = new Map<string, Buffer>();
    const agent = await attached(await openPeer(), async (stream, path, method) => {
      if (method === 'PUT') {
        const content = await readAll(stream);
        files.set(path, content);
        respondJson(stream, 200, { path: '/workspace/f', bytes: content.length });
      } else {
        const content = files.get(path) ?? Buffer.alloc(0);
        stream.respond({ ':status': 200, 'mayfly-size': content.length });
        const pieces = Array.from({ length: 128 }, (_, at) => content.subarray(at * 65_536, (at + 1) * 65_536));
        Readable.from(pieces).pipe(stream);
      }
    });
    const maxBytes = 8 * 1024 ** 2;
    const contents = Array.from({ length: 8 }, (_, at) => Buffer.alloc(maxBytes, String(at)));
    const written = await Promise.all(contents.map((content, at) => agent.writeFile(`${at}`, content, maxBytes)));
    expect(written.map(({ sizeBytes }) => sizeBytes)).toEqual(contents.map(() => maxBytes));
    const read = await Promise.all(contents.map((_, at) => agent.readFile(`${at}`, maxBytes)));
    expect(read.map((content, at) => content.equals(contents[at] ?? Buffer.alloc(0)))).not.toContain(false);
  });

  it('stops sending a file that the guest refuses', async () => {
    const agent = await attached(await openPeer(), (stream) => {
      respondJson(stream, 507, { code: 'no_space', message: 'the disk is full' });
    });
    const large = Buffer.alloc(20_000_000);
    await expect(agent.writeFile('big', large, large.length)).rejects.toMatchObject({ code: 'no_space' });
    expect((await agent.hello()).protocol).toBe(1);
  });

  it('refuses a file that is too large, and stays connected', async () => {
    const agent = await attached(await openPeer(), (stream) => stream.resume());
    await expect(agent.writeFile('f', Buffer.alloc(1_001), 1_000)).rejects.toMatchObject({ code: 'too_large' });
    expect((await agent.hello()).protocol).toBe(1);
  });

  it('lists and deletes files, and sets a new expiry', async () => {
    const calls: string[] = [];
    const entries = [
      { name_base64: Buffer.from([0xff, 0x61]).toString('base64'), type: 'symlink', size_bytes: null },
      { name_base64: Buffer.from('a b').toString('base64'), type: 'file', size_bytes: 7 },
    ];
    const agent = await attached(await openPeer(), async (stream, path, method) => {
      const body = (await readAll(stream)).toString();
      calls.push(`${method} ${path} ${body}`.trim());
      if (path === '/expiry') stream.respond({ ':status': 204 }, { endStream: true });
      else respondJson(stream, 200, { path: '/x', ...(method === 'GET' && { entries, truncated: true }) });
    });
    expect(await agent.listFiles('/a b', 2)).toEqual({
      entries: [
        { name: Buffer.from([0xff, 0x61]), type: 'symlink', sizeBytes: null },
        { name: Buffer.from('a b'), type: 'file', sizeBytes: 7 },
      ],
      truncated: true,
    });
    await expect(agent.listFiles('/a', 1)).rejects.toBeInstanceOf(GuestUnreachable);
    await agent.deleteFile('/a&b', false);
    await agent.deleteFile('/c', true);
    await agent.setExpiry(1_790_000_000_000);
    expect(calls).toEqual([
      'GET /files/list?path=%2Fa%20b&max_entries=2',
      'GET /files/list?path=%2Fa&max_entries=1',
      'DELETE /files?path=%2Fa%26b&recursive=0',
      'DELETE /files?path=%2Fc&recursive=1',
      'POST /expiry {"expires_at_ms":1790000000000}',
    ]);
    await expect(agent.deleteFile('\ud800', false)).rejects.toMatchObject({ code: 'bad_request' });
  });

  it('lists 50,000 names of 255 bytes', async () => {
    const name = (at: number) => Buffer.from(String(at).padStart(255, '0'));
    const agent = await attached(await openPeer(), (stream) => {
      const entries = Array.from({ length: 50_000 }, (_, at) => {
        return { name_base64: name(at).toString('base64'), type: 'symlink', size_bytes: Number.MAX_SAFE_INTEGER };
      });
      respondJson(stream, 200, { path: '/x', entries, truncated: false });
    });
    const { entries } = await agent.listFiles('/x', 50_000);
    expect(entries).toHaveLength(50_000);
    expect(entries.at(-1)?.name).toEqual(name(49_999));
  });

  it('corrects the clock until it is within 100 ms, three times at most', async () => {
    const calls: string[] = [];
    let offsMs = [-500, -50];
    const handler: Handler = async (stream, path) => {
      const asked = JSON.parse((await readAll(stream)).toString());
      expect(Buffer.from(asked.entropy, 'base64')).toHaveLength(48);
      calls.push(path);
      respondJson(stream, 200, { unix_ns: String(BigInt(asked.unix_ns) + BigInt(offsMs.shift() ?? 900) * 1_000_000n) });
    };
    const agent = await attached(await openPeer(), handler, () => 1_790_000_000_000);
    await agent.setIdentity({ hostname: 'h', machineId: 'a'.repeat(32), expiresAtMs: 0 });
    expect(calls.splice(0)).toEqual(['/identity', '/clock']);
    offsMs = [];
    await agent.setIdentity({ hostname: 'h', machineId: 'a'.repeat(32), expiresAtMs: 0 });
    expect(calls.splice(0)).toEqual(['/identity', '/clock', '/clock', '/clock']);
    offsMs = [100];
    await agent.setClock();
    expect(calls).toEqual(['/clock']);
  });
});

describe('opening the channel', () => {
  it('fails at the deadline and closes a channel that opens too late', async () => {
    const peer = await openPeer();
    const opening = Promise.withResolvers<typeof peer.channel>();
    const machine = { id: 'm', openAgentChannel: () => opening.promise };
    await expect(createGuestConnector().attach(machine, 20)).rejects.toBeInstanceOf(GuestUnreachable);
    opening.resolve(peer.channel);
    await vi.waitFor(() => expect(peer.closed()).toBe(true), { timeout: 30_000 });
  });

  it('reports why the channel did not open', async () => {
    const machine = { id: 'm', openAgentChannel: () => Promise.reject(new Error('the machine is gone')) };
    const refused = createGuestConnector().attach(machine, 1_000);
    await expect(refused).rejects.toMatchObject({
      name: 'GuestUnreachable',
      cause: { message: 'the machine is gone' },
    });
  });

  const endingSession = async () => {
    const peer = await openPeer();
    void answerAttach(peer).then(async () => peer.control.write(`ended ${await peer.nonce}\n`));
    return peer.channel;
  };

  it('attaches again when the agent ended the session before its first answer', async () => {
    const peer = await openPeer();
    const serving = serve(peer, () => {});
    const channels = [await endingSession(), await endingSession(), peer.channel];
    const machine = { id: 'm', openAgentChannel: async () => channels.shift() ?? peer.channel };
    const agent = await createGuestConnector().attach(machine, 60_000);
    agents.push(agent);
    await serving;
    expect((await agent.hello()).protocol).toBe(1);
  });

  it('gives up on an agent that ends every session', async () => {
    let opened = 0;
    const openAgentChannel = async () => {
      opened += 1;
      return await endingSession();
    };
    const refused = createGuestConnector().attach({ id: 'm', openAgentChannel }, 60_000);
    await expect(refused).rejects.toThrow('the agent ended the session');
    expect(opened).toBe(3);
  });
});
