import { once } from 'node:events';
import { WebSocket } from 'ws';
import { type Place, routeTo } from './route.ts';

/** Opens a WebSocket to a path of a preview; fails if it is not taken. */
export const openSocket = async (
  place: Place,
  path = '/socket',
  headers: Readonly<Record<string, string>> = {},
): Promise<WebSocket> => {
  const { host, port, ...trust } = routeTo(place);
  const { host: named } = new URL(place.url);
  const socket = new WebSocket(`wss://${host}:${port}${path}`, { ...trust, headers: { host: named, ...headers } });
  await once(socket, 'open');
  // How it ends is told by its close.
  socket.on('error', () => {});
  return socket;
};

/** The next message, as text. */
export const nextMessage = async (socket: WebSocket): Promise<string> => {
  const [data] = (await once(socket, 'message')) as [Buffer];
  return data.toString('utf8');
};

/** Says something and gives what comes back. */
export const exchangeMessage = async (socket: WebSocket, text: string): Promise<string> => {
  const answer = nextMessage(socket);
  socket.send(text);
  return await answer;
};
