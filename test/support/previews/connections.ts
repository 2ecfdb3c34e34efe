import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { text } from 'node:stream/consumers';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import { WebSocket } from 'ws';

/** How a visitor reaches a preview. */
export interface PreviewAddress {
  readonly url: string;
  /** The authority that the visitor trusts (PEM); without one, every certificate is accepted. */
  readonly ca?: string | undefined;
}

const deadlineMs = 60_000;

/** TLS options for a connection to a preview. Names below localhost resolve to loopback, whatever the resolver says. */
export function connectionOptions({
  url,
  ca,
}: PreviewAddress): ConnectionOptions & { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(url);
  return {
    host: /(^|\.)localhost$/.test(hostname) ? '127.0.0.1' : hostname,
    servername: hostname,
    port: Number(port || 443),
    ...(ca === undefined ? { rejectUnauthorized: false } : { ca }),
  };
}

/** Opens a TLS connection to a preview, to be written to byte by byte. */
export async function connectRaw(
  address: PreviewAddress,
  protocol: 'http/1.1' | 'h2' = 'http/1.1',
): Promise<TLSSocket> {
  const socket = connectTls({ ...connectionOptions(address), ALPNProtocols: [protocol] });
  await once(socket, 'secureConnect');
  return socket;
}

/** Sends bytes unchanged and returns everything received until the server closes the connection. Fails if it never does. */
export async function exchangeRaw(address: PreviewAddress, bytes: string): Promise<string> {
  const socket = await connectRaw(address);
  const deadline = setTimeout(() => socket.destroy(new Error('the connection was not closed')), deadlineMs);
  socket.write(bytes, 'latin1');
  try {
    return await text(socket);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ECONNRESET') return '';
    throw error;
  } finally {
    clearTimeout(deadline);
    socket.destroy();
  }
}

/** Opens an HTTP/2 connection to a preview. Errors after that are reported by its streams. */
export async function connectHttp2(address: PreviewAddress): Promise<ClientHttp2Session> {
  const socket = await connectRaw(address, 'h2');
  const session = connect(address.url, { createConnection: () => socket });
  session.on('error', () => {});
  return session;
}

/** Opens a WebSocket to a path of a preview. Fails if the handshake is refused. */
export async function openWebSocket(
  address: PreviewAddress,
  path = '/socket',
  headers: Readonly<Record<string, string>> = {},
): Promise<WebSocket> {
  const { host, port, ...trust } = connectionOptions(address);
  const { host: hostHeader } = new URL(address.url);
  const socket = new WebSocket(`wss://${host}:${port}${path}`, {
    ...trust,
    headers: { host: hostHeader, ...headers },
  });
  await once(socket, 'open');
  // Tests observe the `close` event, which follows every error.
  socket.on('error', () => {});
  return socket;
}

/** The next message, as text. */
export async function nextMessage(socket: WebSocket): Promise<string> {
  const [data] = (await once(socket, 'message')) as [Buffer];
  return data.toString('utf8');
}

/** Sends a message and returns the next one received. */
export async function exchangeMessage(socket: WebSocket, text: string): Promise<string> {
  const reply = nextMessage(socket);
  socket.send(text);
  return await reply;
}
