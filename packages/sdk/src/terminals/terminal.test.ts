import { createServer } from 'node:http';
import type { AddressInfo, Socket as TcpSocket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type StubApi, stubApi } from '../../test/stub-api.ts';
import { ConnectionError, type Sandbox } from '../index.ts';
import { clientFrame, FrameParser, opcodes } from './frames.ts';
import { Terminal } from './terminal.ts';
import { type Closing, NodeSocket, openSocket, type Socket } from './web-socket.ts';

let api: StubApi;
let sandbox: Sandbox;
beforeAll(async () => {
  api = await stubApi();
  sandbox = await api.client().sandboxes.create();
});
afterAll(() => api[Symbol.asyncDispose]());

const nativeSocket = globalThis.WebSocket;

/** Makes terminals use this WebSocket, as in a runtime that is not Node.js. */
const useRuntime = (implementation: unknown) => Object.assign(globalThis, { Deno: {}, WebSocket: implementation });
const useNode = () => {
  Object.assign(globalThis, { WebSocket: nativeSocket });
  Reflect.deleteProperty(globalThis, 'Deno');
};

describe.each([
  ['the WebSocket of the runtime', () => void useRuntime(nativeSocket)],
  ['our own WebSocket', useNode],
])('a terminal over %s', (_, use) => {
  beforeAll(use);
  afterAll(useNode);

  it('prints, is typed into, changes its size, is left and joined, and exits', async () => {
    const terminal = await sandbox.terminal({ cols: 100, rows: 30 });
    const shell = api.service.connector.terminals.newest;
    expect([terminal.cols, terminal.rows]).toEqual([100, 30]);
    const sizes: number[] = [];
    terminal.onResize = ({ cols }) => sizes.push(cols);
    const printed: Uint8Array[] = [];
    const reading = (async () => {
      for await (const bytes of terminal) printed.push(bytes);
    })();
    const large = 'grüße '.repeat(50_000);
    shell.print('hello');
    shell.print(large);
    await expect.poll(() => Buffer.concat(printed).toString()).toContain(`hello${large}`);
    terminal.write('ls\n');
    terminal.write('x'.repeat(600_000));
    terminal.write(new Uint8Array([3]));
    await expect.poll(() => shell.typed.join('')).toBe(`ls\n${'x'.repeat(600_000)}\u0003`);
    terminal.resize(90, 20);
    await expect.poll(() => terminal.cols).toBe(90);
    expect(sizes).toEqual([90]);
    terminal.detach();
    await reading;
    const again = await sandbox.terminal({ session: terminal.session });
    shell.exit(5);
    for await (const _ of again);
    expect(again.exitCode).toBe(5);
  });

  it('ends all its readers when it is left', async () => {
    const terminal = await sandbox.terminal();
    const read = async () => {
      for await (const _ of terminal);
    };
    const readers = [read(), read(), read()];
    terminal.detach();
    expect(await Promise.all(readers)).toHaveLength(3);
  });

  it('that does not exist, or whose sandbox ends, is a lost connection', async () => {
    await expect(sandbox.terminal({ session: 'term_unknown' })).rejects.toThrow(ConnectionError);
    const other = await api.client().sandboxes.create();
    const terminal = await other.terminal();
    const reading = (async () => {
      for await (const _ of terminal);
    })();
    await Promise.all([expect(reading).rejects.toThrow(ConnectionError), other.delete()]);
  });
});

describe('a terminal that is read too slowly', () => {
  it('is left, and its reader learns it after what was kept', async () => {
    const closed: unknown[] = [];
    const socket: Socket = {
      binaryType: 'arraybuffer',
      onmessage: null,
      onclose: null,
      send: () => {},
      close: (code) => closed.push(code),
    };
    const terminal = new Terminal(socket, { type: 'ready', session: 'term_1', cols: 80, rows: 24 });
    for (let count = 0; count < 20; count += 1) socket.onmessage?.({ data: new ArrayBuffer(1024 ** 2) });
    expect(closed).toEqual([1000]);
    let bytes = 0;
    const read = async () => {
      for await (const printed of terminal) bytes += printed.length;
    };
    await expect(read()).rejects.toThrow('Terminal term_1 was read too slowly. Join it again with its session');
    expect(bytes).toBe(9 * 1024 ** 2);
  });
});

describe('a terminal that is opening', () => {
  it('rejects with the reason of the signal', async () => {
    const abort = new AbortController();
    class Silent {
      onclose: ((closing: Closing) => void) | null = null;
      constructor() {
        queueMicrotask(() => abort.abort(new Error('enough')));
      }
      close(): void {
        this.onclose?.({ code: 1006, reason: '' });
      }
    }
    useRuntime(Silent);
    try {
      await expect(sandbox.terminal({ signal: abort.signal })).rejects.toThrow('enough');
    } finally {
      useNode();
    }
  });
});

describe('our own WebSocket', () => {
  const accepted = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n';
  const answers: Readonly<Record<string, string>> = {
    '/refused': 'HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\n',
    '/silent': accepted,
    // A frame with the text "hi".
    '/deaf': `${accepted}\u0081\u0002hi`,
  };
  const server = createServer();
  const connections: TcpSocket[] = [];
  let url: URL;
  beforeAll(async () => {
    server.on('connection', (socket: TcpSocket) => connections.push(socket));
    server.on('upgrade', ({ url: path = '' }, socket) => {
      socket.on('error', () => undefined);
      if (path !== '/deaf') socket.on('end', () => socket.end()).resume();
      socket.write(answers[path] ?? '', 'latin1');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = new URL(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
  afterAll(() => {
    for (const connection of connections) connection.destroy();
    server.close();
  });
  const closingOf = (socket: NodeSocket) => new Promise<Closing>((resolve) => (socket.onclose = resolve));
  const allGone = async () => {
    await expect.poll(() => connections.every(({ destroyed }) => destroyed), { timeout: 10_000 }).toBe(true);
  };

  it('that is closed before it opened, or is refused, leaves no connection', async () => {
    const opening = new NodeSocket(new URL('/never', url));
    await expect.poll(() => connections.length).toBe(1);
    opening.close();
    expect((await closingOf(opening)).code).toBe(1000);
    expect(await closingOf(new NodeSocket(new URL('/refused', url)))).toMatchObject({
      reason: 'the handshake was refused',
    });
    await allGone();
  });

  it('is used on Node.js although that has one, because only ours notices a silent connection', async () => {
    expect(nativeSocket).toBeDefined();
    const socket = openSocket(new URL('/silent', url));
    expect(socket).toBeInstanceOf(NodeSocket);
    socket.close();
    await allGone();
  });

  it('whose other side is silent is lost', async () => {
    const socket = new NodeSocket(new URL('/silent', url), { silenceMs: 50, closeMs: 50 });
    expect(await closingOf(socket)).toEqual({ code: 1006, reason: 'nothing was received for 50 ms' });
    await allGone();
  });

  it('that is closed ends also if the other side does not', async () => {
    const socket = new NodeSocket(new URL('/deaf', url), { silenceMs: 60_000, closeMs: 50 });
    const closing = closingOf(socket);
    socket.onmessage = () => socket.close();
    expect((await closing).code).toBe(1000);
  });
});

describe('frames', () => {
  it.each([0, 1, 125, 126, 65_535, 65_536, 200_000])('of %i bytes are read however they are divided', (length) => {
    const payload = crypto.getRandomValues(new Uint8Array(Math.min(length, 65_536)));
    const whole = new Uint8Array(length);
    whole.set(payload.subarray(0, length));
    const frame = clientFrame(opcodes.binary, whole);
    // What a server sends is the same without the mask.
    const start = frame.length - length - 4;
    const mask = frame.subarray(start, start + 4);
    const unmasked = frame.subarray(start + 4).map((byte, index) => byte ^ (mask[index % 4] ?? 0));
    const served = Buffer.concat([frame.subarray(0, start), unmasked]);
    served[1] = (served[1] ?? 0) & 0x7f;
    const parser = new FrameParser();
    const frames = [served.subarray(0, 1), served.subarray(1, 3), served.subarray(3)].flatMap((part) => [
      ...parser.push(part),
    ]);
    expect(frames.length).toBe(1);
    expect(frames[0]).toMatchObject({ isLast: true, opcode: opcodes.binary });
    expect(Buffer.compare(frames[0]?.payload ?? Buffer.alloc(0), whole)).toBe(0);
  });

  it('that are masked or use extensions are refused', () => {
    expect(() => [...new FrameParser().push(new Uint8Array([0xc2, 0]))]).toThrow('not valid');
    expect(() => [...new FrameParser().push(clientFrame(opcodes.text, new Uint8Array()))]).toThrow('not valid');
  });
});
