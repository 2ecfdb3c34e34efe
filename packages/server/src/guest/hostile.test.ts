import { constants } from 'node:http2';
import { afterEach, describe, expect, it } from 'vitest';
import {
  answerAttach,
  attachTo,
  ended,
  frame,
  greetRaw,
  type Handler,
  hello,
  openPeer,
  type Peer,
  respondJson,
  serve,
  untilFrame,
} from '../../test/guest/peer.ts';
import { emptySettings, rawFrame, rawHeader, rawResponse } from '../../test/guest/raw-http2.ts';
import { type GuestAgent, GuestUnreachable } from '../core/ports/guest-agent.ts';
import type { GuestConnectorOptions } from './connector.ts';

const impatient: GuestConnectorOptions = {
  deadlines: {
    smallCallMs: 700,
    executeGraceMs: 300,
    resumeMs: 300,
    attachRepeatMs: 20,
    pingIntervalMs: 20,
    pingAnswerMs: 100,
  },
};
const execute = { id: 'exec_1', command: 'true', cwd: '/workspace', env: {}, timeoutMs: 100, captureBytes: 1_000 };
const attachMs = 400;

const escaped: unknown[] = [];
const onEscape = (error: unknown) => escaped.push(error);
process.on('uncaughtException', onEscape);
const agents: GuestAgent[] = [];
afterEach(() => {
  for (const agent of agents.splice(0)) agent.close();
  expect(escaped.splice(0)).toEqual([]);
});

async function attached(peer: Peer, handler: Handler, options = impatient): Promise<GuestAgent> {
  const serving = serve(peer, handler);
  const agent = await attachTo(peer, 5_000, options);
  await serving;
  agents.push(agent);
  return agent;
}

/** Keeps writing as fast as the service reads, until the stream is gone. */
function flood(peer: Peer, stream: Peer['data'], piece: Buffer): void {
  const more = () => {
    while (!peer.closed() && stream.writable && stream.write(piece));
  };
  stream.on('drain', more);
  more();
}

async function expectLost(work: Promise<unknown>, peer: Peer): Promise<void> {
  await expect(work).rejects.toBeInstanceOf(GuestUnreachable);
  expect(peer.closed()).toBe(true);
}

describe('a hostile agent, attaching', () => {
  it('never answers', async () => {
    const peer = await openPeer();
    await expectLost(attachTo(peer, 50, impatient), peer);
  });

  it('hangs up', async () => {
    const peer = await openPeer();
    const attaching = attachTo(peer, attachMs, impatient);
    peer.data.destroy();
    await expectLost(attaching, peer);
  });

  it('sends endless noise instead of the marker', async () => {
    const peer = await openPeer();
    const attaching = attachTo(peer, 10_000, impatient);
    flood(peer, peer.data, Buffer.alloc(1_000_000, 'MAYFLY-SYNC '));
    await expectLost(attaching, peer);
    await expect(attaching).rejects.toThrow('no marker');
  });

  it('sends the marker and then nothing', async () => {
    const peer = await openPeer();
    const attaching = attachTo(peer, attachMs, impatient);
    await answerAttach(peer);
    await expectLost(attaching, peer);
  });

  it.each([
    ['text', Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi')],
    ['zeros', Buffer.alloc(200_000)],
    ['0xff', Buffer.alloc(200_000, 0xff)],
    ['a frame that is too long', rawFrame(0, 0, 1, Buffer.alloc(70_000))],
    ['pushed streams', Buffer.concat([emptySettings, ...pushes(5_000)])],
    ['endless settings', Buffer.concat(Array.from({ length: 20_000 }, () => emptySettings))],
    [
      'endless pings',
      Buffer.concat([emptySettings, ...Array.from({ length: 50_000 }, () => rawFrame(6, 0, 0, Buffer.alloc(8)))]),
    ],
    [
      'endless continuation',
      Buffer.concat([emptySettings, rawFrame(1, 0, 1, Buffer.alloc(10)), ...continuations(5_000)]),
    ],
    ['an answer without a request', Buffer.concat([emptySettings, rawResponse(99)])],
    [
      'a window that overflows',
      Buffer.concat([
        emptySettings,
        ...Array.from({ length: 3 }, () => rawFrame(8, 0, 0, Buffer.from([0x7f, 255, 255, 255]))),
      ]),
    ],
    ['goaway', Buffer.concat([emptySettings, rawFrame(7, 0, 0, Buffer.alloc(8))])],
  ])('sends %s after the marker', async (_, garbage) => {
    const peer = await openPeer();
    const attaching = attachTo(peer, attachMs, impatient);
    const answering = answerAttach(peer, Buffer.alloc(0), garbage);
    await expectLost(attaching, peer);
    await answering;
  });

  it.each([
    ['another protocol', { ...hello, protocol: 2 }],
    ['nonsense', 'hello'],
  ])('says %s at hello', async (_, body) => {
    const peer = await openPeer();
    const attaching = attachTo(peer, attachMs, impatient);
    const serving = serve(peer, (stream) => respondJson(stream, 200, body), false);
    await expectLost(attaching, peer);
    await serving;
  });
});

describe('a hostile agent, attached', () => {
  it('floods the control port: it is blocked, and commands continue', async () => {
    const peer = await openPeer();
    const agent = await attached(peer, () => {});
    let sentBytes = 0;
    const piece = Buffer.alloc(100_000, 'x');
    const blocked = new Promise<void>((resolve) => {
      const more = () => {
        while (sentBytes < 50_000_000) {
          sentBytes += piece.length;
          if (!peer.control.write(piece)) return;
        }
        resolve();
      };
      peer.control.on('drain', more);
      more();
    });
    for (let round = 0; round < 20; round += 1) expect((await agent.hello()).protocol).toBe(1);
    expect(await Promise.race([blocked, Promise.resolve('blocked')])).toBe('blocked');
    expect(sentBytes).toBeLessThan(5_000_000);
    expect(peer.channel.control.readableLength).toBeLessThan(1_000_000);
  });

  it('never answers a call: the call fails at its deadline and others continue', async () => {
    const agent = await attached(await openPeer(), (stream) => stream.resume());
    await expect(agent.stats()).rejects.toThrow('within 700 ms');
    await expect(agent.writeFile('f', Buffer.alloc(10), 10)).rejects.toBeInstanceOf(GuestUnreachable);
    expect((await agent.hello()).protocol).toBe(1);
  });

  it('stops reading in the middle of an upload: the call fails, and closing does not wait for the guest', async () => {
    const peer = await openPeer();
    const attaching = attachTo(peer, 5_000, impatient);
    await greetRaw(peer);
    const agent = await attaching;
    // Windows of 4 MiB, so that the service's socket fills up.
    const more = Buffer.from([0, 0x40, 0, 0]);
    peer.data.write(Buffer.concat([rawFrame(4, 0, 0, Buffer.from([0, 4, ...more])), rawFrame(8, 0, 0, more)]));
    const writing = agent.writeFile('f', Buffer.alloc(4_000_000), 4_000_000);
    writing.catch(() => {});
    await expect(agent.stats()).rejects.toThrow('within 700 ms');
    agent.close();
    await agent.closed;
    await expect(writing).rejects.toBeInstanceOf(GuestUnreachable);
    expect(peer.closed()).toBe(true);
  });

  it('answers a command byte by byte forever', async () => {
    const agent = await attached(await openPeer(), (stream) => {
      stream.respond({ ':status': 200 });
      stream.write(frame(0, { started_at_ms: 1 }));
      const timer = setInterval(() => stream.write(frame(1, 'x')), 5);
      stream.on('close', () => clearInterval(timer));
    });
    await expect(agent.execute(execute)).rejects.toThrow('within 400 ms');
  });

  it('falls silent during a command: the connection ends when a ping is not answered', async () => {
    const peer = await openPeer();
    const attaching = attachTo(peer, 5_000, impatient);
    await greetRaw(peer);
    const agent = await attaching;
    await expect(agent.execute({ ...execute, timeoutMs: 60_000 })).rejects.toThrow('ping');
    await agent.closed;
    expect(peer.closed()).toBe(true);
  });

  it.each([
    ['NO_ERROR', constants.NGHTTP2_NO_ERROR],
    ['INTERNAL_ERROR', constants.NGHTTP2_INTERNAL_ERROR],
    ['CANCEL', constants.NGHTTP2_CANCEL],
    ['REFUSED_STREAM', constants.NGHTTP2_REFUSED_STREAM],
  ])('resets a call with %s', async (_, code) => {
    const agent = await attached(await openPeer(), (stream) => stream.close(code));
    await expect(agent.stats()).rejects.toBeInstanceOf(GuestUnreachable);
    await expect(agent.execute(execute)).rejects.toBeInstanceOf(GuestUnreachable);
    expect((await agent.hello()).protocol).toBe(1);
  });

  it.each([
    ['resets', rawFrame(3, 0, 3, Buffer.from([0, 0, 0, 2]))],
    ['disconnects during', undefined],
  ])('%s a file transfer: the file is never truncated', async (_, reset) => {
    const peer = await openPeer();
    const attaching = attachTo(peer, 5_000, impatient);
    await greetRaw(peer);
    const agent = await attaching;
    agents.push(agent);
    const reading = agent.readFile('f', 100);
    reading.catch(() => {});
    await untilFrame(peer, 1, 0);
    peer.data.write(rawFrame(1, 4, 3, Buffer.concat([Buffer.from([0x88]), rawHeader('mayfly-size', '100')])));
    peer.data.write(rawFrame(0, 0, 3, Buffer.alloc(50)), () => {
      if (reset === undefined) peer.data.destroy();
      else peer.data.write(reset);
    });
    await expect(reading).rejects.toBeInstanceOf(GuestUnreachable);
  });

  it('closes the HTTP/2 session: every call in flight fails and `closed` resolves', async () => {
    const agent = await attached(await openPeer(), (stream) => stream.session?.goaway());
    const calls = [agent.stats(), agent.execute(execute), agent.readFile('f', 10)];
    await Promise.all(calls.map((call) => expect(call).rejects.toBeInstanceOf(GuestUnreachable)));
    await agent.closed;
    await expect(agent.hello()).rejects.toBeInstanceOf(GuestUnreachable);
  });

  it('lies about content-length', async () => {
    const agent = await attached(await openPeer(), (stream) => {
      stream.respond({ ':status': 200, 'content-length': 5, 'mayfly-size': 5 });
      stream.end('0123456789');
    });
    await expect(agent.readFile('f', 100)).rejects.toBeInstanceOf(GuestUnreachable);
  });

  it.each([
    ['many headers', Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`x-${at}`, 'v']))],
    ['a huge header', { 'x-large': 'v'.repeat(60_000) }],
    ['a redirect', { ':status': 302 }],
  ])('answers with %s', async (_, headers) => {
    const peer = await openPeer();
    const agent = await attached(peer, (stream) => {
      stream.respond({ ':status': 200, ...headers });
      stream.end('{}');
    });
    await expect(agent.stats()).rejects.toBeInstanceOf(GuestUnreachable);
  });

  it('sends an oversized frame: the connection ends', async () => {
    const peer = await openPeer();
    const agent = await attached(peer, (stream) => {
      stream.respond({ ':status': 200 });
      stream.write(Buffer.from([1, 0x7f, 0xff, 0xff, 0xff]));
    });
    await expectLost(agent.execute(execute), peer);
    await agent.closed;
  });

  it('sends endless output, JSON or file content: the call fails, memory is bounded', async () => {
    const agent = await attached(await openPeer(), (stream, path) => {
      const piece = path.startsWith('/executions') ? frame(1, Buffer.alloc(60_000)) : Buffer.alloc(60_000, ' ');
      stream.respond({ ':status': path === '/figures' ? 500 : 200, 'mayfly-size': 10 });
      if (path.startsWith('/executions')) stream.write(frame(0, { started_at_ms: 1 }));
      const more = () => {
        while (stream.writable && stream.write(piece));
      };
      stream.on('drain', more);
      more();
    });
    for (let round = 0; round < 5; round += 1) {
      await expect(agent.execute(execute)).rejects.toThrow('more output');
      await expect(agent.stats()).rejects.toThrow('more than 16384 bytes');
      await expect(agent.setClock()).rejects.toThrow('more than 1048576 bytes');
      await expect(agent.readFile('f', 1_000_000)).rejects.toThrow('more of a file');
    }
    expect((await agent.hello()).protocol).toBe(1);
  });

  it('sends pings without end: the connection ends', async () => {
    const peer = await openPeer();
    const agent = await attached(peer, (stream) => {
      const again = () => {
        if (stream.session?.destroyed === false) stream.session.ping(again);
      };
      again();
    });
    await expectLost(agent.execute({ ...execute, timeoutMs: 60_000 }), peer);
    await agent.closed;
  });

  it.each([
    ['ORIGIN', rawFrame(12, 0, 0, Buffer.alloc(0))],
    ['ALTSVC', rawFrame(10, 0, 0, Buffer.from('\0\x08http://ah2=":1"', 'latin1'))],
    ['PRIORITY', rawFrame(2, 0, 1, Buffer.from([0, 0, 0, 3, 1]))],
    ['PRIORITY_UPDATE', rawFrame(16, 0, 0, Buffer.from([0, 0, 0, 1, 0x75]))],
    ['PUSH_PROMISE', rawFrame(5, 4, 3, Buffer.from([0, 0, 0, 2, 0x82, 0x86, 0x84, 0x41, 1, 0x61]))],
    ['unknown', rawFrame(0xee, 0, 0, Buffer.alloc(0))],
    ['CONTINUATION', rawFrame(9, 0, 3, Buffer.alloc(0))],
    ['WINDOW_UPDATE', rawFrame(8, 0, 0, Buffer.from([0, 0, 0, 1]))],
    ['RST_STREAM', rawFrame(3, 0, 1, Buffer.from([0, 0, 0, 8]))],
    ['PING answer', rawFrame(6, 1, 0, Buffer.alloc(8))],
    ['SETTINGS answer', rawFrame(4, 1, 0, Buffer.alloc(0))],
    ['empty DATA', rawFrame(0, 0, 1, Buffer.alloc(0))],
    ['padding', rawFrame(0, 8, 1, Buffer.from([3, 0, 0, 0]))],
    ['late HEADERS', rawFrame(1, 5, 1, Buffer.from([0x88]))],
  ])('sends %s frames without end: the connection ends', async (_, piece) => {
    const peer = await openPeer();
    const attaching = attachTo(peer, 5_000, impatient);
    await greetRaw(peer);
    const agent = await attaching;
    agents.push(agent);
    const executing = agent.execute({ ...execute, timeoutMs: 60_000 });
    executing.catch(() => {});
    await untilFrame(peer, 1, 0);
    peer.data.resume();
    flood(peer, peer.data, Buffer.concat(Array<Buffer>(1_000).fill(piece)));
    await expectLost(executing, peer);
    await expect(executing).rejects.toThrow('an HTTP/2 frame that is not accepted');
    await agent.closed;
  });

  it('sends interim responses without end: the connection ends', async () => {
    const peer = await openPeer();
    const agent = await attached(peer, (stream) => {
      for (let count = 0; count < 100; count += 1) stream.additionalHeaders({ ':status': 103 });
    });
    await expectLost(agent.execute({ ...execute, timeoutMs: 60_000 }), peer);
    await agent.closed;
  });

  it('sends output as a million tiny frames: the event loop turns meanwhile', async () => {
    const captureBytes = 1_000_000;
    const frames = Buffer.concat(Array<Buffer>(captureBytes).fill(frame(1, 'x')));
    const answer: Handler = (stream, path) => {
      if (!path.startsWith('/executions')) return respondJson(stream, 200, hello);
      stream.respond({ ':status': 200 });
      stream.write(frame(0, { started_at_ms: 1 }));
      stream.write(frames);
      stream.end(frame(3, ended));
    };
    // With the usual deadlines: both ends are in this process, which is busy for longer than the short ones allow.
    const agent = await attached(await openPeer(), answer, {});
    let longestMs = 0;
    let lastMs = performance.now();
    const timer = setInterval(() => {
      longestMs = Math.max(longestMs, performance.now() - lastMs);
      lastMs = performance.now();
    }, 1);
    const startedMs = performance.now();
    const { stdout } = await agent.execute({ ...execute, timeoutMs: 60_000, captureBytes });
    clearInterval(timer);
    const totalMs = performance.now() - startedMs;
    console.log(`a million frames in ${Math.round(totalMs)} ms, longest turn ${Math.round(longestMs)} ms`);
    expect(stdout.length).toBe(captureBytes);
    // In one piece, it would be nearly all of it.
    expect(longestMs).toBeLessThan(totalMs / 2);
  });

  it('accepts no streams at all', async () => {
    const peer = await openPeer();
    const agent = await attached(peer, (stream) => {
      stream.session?.settings({ maxConcurrentStreams: 0 });
      respondJson(stream, 500, { code: 'internal', message: '' });
    });
    await expect(agent.stats()).rejects.toThrow();
    const calls = Array.from({ length: 100 }, () => agent.hello());
    await Promise.all(calls.map((call) => expect(call).rejects.toBeInstanceOf(GuestUnreachable)));
  });

  it('ends a command without its result', async () => {
    const agent = await attached(await openPeer(), (stream) => {
      stream.respond({ ':status': 200 });
      stream.end(Buffer.concat([frame(0, { started_at_ms: 1 }), frame(1, 'hi')]));
    });
    await expect(agent.execute(execute)).rejects.toBeInstanceOf(GuestUnreachable);
  });

  it('dies in the middle of a command', async () => {
    const peer = await openPeer();
    const agent = await attached(peer, () => peer.control.destroy());
    await expect(agent.execute({ ...execute, timeoutMs: 60_000 })).rejects.toBeInstanceOf(GuestUnreachable);
    await agent.closed;
  });
});

function pushes(count: number): Buffer[] {
  return Array.from({ length: count }, (_, at) => {
    const promised = Buffer.alloc(4);
    promised.writeUInt32BE(2 * (at + 1));
    // :method GET, :scheme http, :path /, and an :authority.
    return rawFrame(5, 4, 1, Buffer.concat([promised, Buffer.from([0x82, 0x86, 0x84, 0x41, 1, 0x61])]));
  });
}

function continuations(count: number): Buffer[] {
  return Array.from({ length: count }, () => rawFrame(9, 0, 1, Buffer.alloc(1_000)));
}
