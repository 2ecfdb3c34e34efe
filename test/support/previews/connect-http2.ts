import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { connect as connectTls } from 'node:tls';
import { type Place, routeTo } from './route.ts';

/** An HTTP/2 connection to a preview; its later errors are told by its streams. */
export const connectHttp2 = async (place: Place): Promise<ClientHttp2Session> => {
  const socket = connectTls({ ...routeTo(place), ALPNProtocols: ['h2'] });
  await once(socket, 'secureConnect');
  const session = connect(place.url, { createConnection: () => socket });
  session.on('error', () => {});
  return session;
};
