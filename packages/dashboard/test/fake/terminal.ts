import { createHash } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { sandboxes } from '../sample-data.ts';
import type { FakeArea } from './area.ts';
import { exampleScreens } from './example.ts';
import { answerFiles } from './files.ts';

/** The terminals of the first running sandbox, and what they show. */
const esc = '\x1b';
const recorded: Readonly<Record<string, string>> = {
  term_aaaa: [
    `${esc}]0;sandbox@nightly-build: /workspace${esc}\\${esc}[32msandbox@nightly-build${esc}[0m:${esc}[34m/workspace${esc}[0m$ ls --color -l`,
    'total 24',
    `drwxr-xr-x 2 sandbox sandbox 4096 Nov 19 01:02 ${esc}[1;34mbuild${esc}[0m`,
    `lrwxrwxrwx 1 sandbox sandbox   12 Nov 19 01:02 ${esc}[1;36mlatest${esc}[0m -> ${esc}[1;34mbuild${esc}[0m`,
    `-rwxr-xr-x 1 sandbox sandbox  311 Nov 19 01:01 ${esc}[1;32mrun.sh${esc}[0m`,
    '-rw-r--r-- 1 sandbox sandbox 1843 Nov 19 00:58 notes.md',
    `${esc}[32msandbox@nightly-build${esc}[0m:${esc}[34m/workspace${esc}[0m$ npm test`,
    '',
    ...['red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'].map(
      (name, index) =>
        `${esc}[${31 + index}m${name.padEnd(9)}${esc}[1mbold${esc}[0m ${esc}[${91 + index}mbright${esc}[0m ${esc}[7m reverse ${esc}[0m ${esc}[${41 + index}m behind ${esc}[0m`,
    ),
    Array.from({ length: 32 }, (_, index) => `${esc}[38;2;${255 - index * 8};${index * 8};160m█`).join('') +
      `${esc}[0m true colour`,
    ` ${esc}[1;32m✓${esc}[0m 214 tests ${esc}[2min 8.1 s${esc}[0m   日本語  ┌──┐ ${esc}[4munderlined${esc}[0m ${esc}[3mitalic${esc}[0m`,
    `${esc}[32msandbox@nightly-build${esc}[0m:${esc}[34m/workspace${esc}[0m$ `,
  ].join('\r\n'),
  term_bbbb: `${esc}]0;<img src=x onerror=alert(1)> of a very long title that a program has chosen${esc}\\$ htop`,
};

interface FakeShells {
  /** Ends new shells at once, with this code. */
  exitCode: number | undefined;
  /** Cuts the connection after the screen. */
  isCut: boolean;
  ids: readonly string[];
}

export const shells: FakeShells = { exitCode: undefined, isCut: false, ids: Object.keys(recorded) };

export const terminalArea: FakeArea = {
  answer: (request, state) => {
    const { operation } = request;
    const files = answerFiles(request, state);
    if (files) return files;
    const [, id, rest] = /^GET \/sandboxes\/([^/]+)(?:\/(\w+))?$/.exec(operation) ?? [];
    if (id === undefined) return undefined;
    if (rest === undefined) {
      const sandbox = sandboxes.find((one) => one.id === id);
      return sandbox && { body: sandbox };
    }
    if (rest !== 'terminals') return undefined;
    return { body: { object: 'list', data: shells.ids.map((one) => ({ object: 'terminal', id: one })), limit: 16 } };
  },
  upgrade: (request, socket, _head, { isExample }) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://fake');
    if (!pathname.endsWith('/pty')) return false;
    const key = createHash('sha1').update(
      `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`,
    );
    const accept = key.digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    const session = searchParams.get('session') ?? 'term_cccc';
    const size = { cols: Number(searchParams.get('cols')), rows: Number(searchParams.get('rows')) };
    sendFrame(socket, 'text', JSON.stringify({ type: 'ready', session, ...size }));
    sendFrame(socket, 'bytes', `${esc}c${(isExample ? exampleScreens : recorded)[session] ?? '$ '}`);
    if (shells.exitCode !== undefined) {
      sendFrame(socket, 'text', JSON.stringify({ type: 'exit', exit_code: shells.exitCode }));
      sendFrame(socket, 'close', Buffer.from([0x03, 0xe8]));
    }
    if (shells.isCut) socket.end();
    socket.on('error', () => socket.destroy());
    return true;
  },
};

const opcodes = { text: 1, bytes: 2, close: 8 } as const;

function sendFrame(socket: Duplex, kind: keyof typeof opcodes, payload: string | Uint8Array): void {
  const bytes = Buffer.from(payload);
  const head = Buffer.alloc(bytes.length < 126 ? 2 : 4);
  head.writeUInt8(0x80 | opcodes[kind], 0);
  head.writeUInt8(Math.min(bytes.length, 126), 1);
  if (bytes.length >= 126) head.writeUInt16BE(bytes.length, 2);
  socket.write(Buffer.concat([head, bytes]));
}
