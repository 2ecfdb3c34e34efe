import type { Place } from './route.ts';
import { connectRaw } from './speak.ts';

const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const types = { data: 0, headers: 1, rstStream: 3, settings: 4, goAway: 7 } as const;
const endStream = 0x1;
const endHeaders = 0x4;
const headBytes = 9;
const deadlineMs = 15_000;

const frame = (type: number, flags: number, stream: number, payload: Buffer): Buffer => {
  const head = Buffer.alloc(headBytes);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
};

/** A text as HPACK has it, without compression; up to 126 bytes. */
const literal = (text: string): Buffer => Buffer.concat([Buffer.from([text.length]), Buffer.from(text, 'latin1')]);

/** A header that is not to be remembered. */
const field = ([name, value]: readonly [string, string]): Buffer =>
  Buffer.concat([Buffer.from([0]), literal(name), literal(value)]);

export type Fields = readonly (readonly [string, string])[];

/** How a server took a request: the body of an answer of 200, `refused` for any other answer, a reset or the connection's end. */
export type Reception = { readonly body: string } | 'refused';

/** Sends one HTTP/2 request of any headers, which no client library would send, and tells how it was taken. */
export const sendFields = async (place: Place, fields: Fields, body?: string): Promise<Reception> => {
  const socket = await connectRaw(place, 'h2');
  const deadline = setTimeout(() => socket.destroy(new Error('no answer')), deadlineMs);
  const flags = endHeaders | (body === undefined ? endStream : 0);
  socket.write(preface);
  socket.write(frame(types.settings, 0, 0, Buffer.alloc(0)));
  socket.write(frame(types.headers, flags, 1, Buffer.concat(fields.map(field))));
  if (body !== undefined) socket.write(frame(types.data, endStream, 1, Buffer.from(body)));
  let text = '';
  try {
    for await (const { type, flags, payload } of framesOf(socket)) {
      if (type === types.rstStream || type === types.goAway) return 'refused';
      // The index of `:status: 200`, which every encoder uses for it.
      if (type === types.headers && payload[0] !== 0x88) return 'refused';
      if (type === types.data) text += payload.toString('utf8');
      if ((type === types.data || type === types.headers) && flags & endStream) return { body: text };
    }
    return 'refused';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ECONNRESET') return 'refused';
    throw error;
  } finally {
    clearTimeout(deadline);
    socket.destroy();
  }
};

/** The frames of a connection, one by one. */
async function* framesOf(socket: AsyncIterable<Buffer>) {
  let held = Buffer.alloc(0);
  for await (const piece of socket) {
    held = Buffer.concat([held, piece]);
    while (held.length >= headBytes && held.length >= headBytes + held.readUIntBE(0, 3)) {
      const payload = held.subarray(headBytes, headBytes + held.readUIntBE(0, 3));
      const [, , , type = 0, flags = 0] = held;
      held = held.subarray(headBytes + payload.length);
      yield { type, flags, payload };
    }
  }
}
