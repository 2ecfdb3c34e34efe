import { connectRaw, type PreviewAddress } from './connections.ts';

const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const types = { data: 0, headers: 1, rstStream: 3, settings: 4, goAway: 7 } as const;
const endStream = 0x1;
const endHeaders = 0x4;
const frameHeaderBytes = 9;
const deadlineMs = 60_000;

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(frameHeaderBytes);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A string in HPACK without Huffman coding; up to 126 bytes. */
function literal(text: string): Buffer {
  return Buffer.concat([Buffer.from([text.length]), Buffer.from(text, 'latin1')]);
}

/** A literal header field that is not added to the dynamic table. */
function field([name, value]: readonly [string, string]): Buffer {
  return Buffer.concat([Buffer.from([0]), literal(name), literal(value)]);
}

export type Fields = readonly (readonly [string, string])[];

/** The outcome of a request: the body of a 200 response, or `refused` for any other status, a reset or a closed connection. */
export type RequestOutcome = { readonly body: string } | 'refused';

/** Sends an HTTP/2 request with arbitrary header fields, including those that client libraries refuse to send. */
export async function sendHeaderFields(
  address: PreviewAddress,
  fields: Fields,
  body?: string,
): Promise<RequestOutcome> {
  const socket = await connectRaw(address, 'h2');
  const deadline = setTimeout(() => socket.destroy(new Error('no response')), deadlineMs);
  const flags = endHeaders | (body === undefined ? endStream : 0);
  socket.write(preface);
  socket.write(frame(types.settings, 0, 0, Buffer.alloc(0)));
  socket.write(frame(types.headers, flags, 1, Buffer.concat(fields.map(field))));
  if (body !== undefined) socket.write(frame(types.data, endStream, 1, Buffer.from(body)));
  let text = '';
  try {
    for await (const { type, flags, payload } of framesOf(socket)) {
      if (type === types.rstStream || type === types.goAway) return 'refused';
      // 0x88 is the static table's entry for `:status: 200`, which every encoder uses.
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
}

/** The frames received on a connection. */
async function* framesOf(socket: AsyncIterable<Buffer>) {
  let buffered = Buffer.alloc(0);
  for await (const chunk of socket) {
    buffered = Buffer.concat([buffered, chunk]);
    while (buffered.length >= frameHeaderBytes && buffered.length >= frameHeaderBytes + buffered.readUIntBE(0, 3)) {
      const payload = buffered.subarray(frameHeaderBytes, frameHeaderBytes + buffered.readUIntBE(0, 3));
      const [, , , type = 0, flags = 0] = buffered;
      buffered = buffered.subarray(frameHeaderBytes + payload.length);
      yield { type, flags, payload };
    }
  }
}
