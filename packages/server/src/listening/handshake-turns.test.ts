import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { clientHelloFor } from '../../test/client-hello.ts';
import { maxClientHelloBytes } from './client-hello.ts';
import { type HandshakePace, handshakesInTurn } from './handshake-turns.ts';

/** A server that hands its connections over, and a client for it. */
async function serve(pace: HandshakePace) {
  const accepted: Socket[] = [];
  const server = createServer(
    { allowHalfOpen: true },
    handshakesInTurn((socket) => void accepted.push(socket), pace),
  );
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const open = async (localAddress = '127.0.0.1') => {
    const client = connect({ host: '127.0.0.1', port, localAddress, noDelay: true }).on('error', () => {});
    await Promise.all([once(client, 'connect'), once(server, 'connection')]);
    sockets.push(client);
    return client;
  };
  return { accepted, open };
}

const patient = { perTurn: 2, clientHelloMs: 60_000 };

test('a flood of handshakes from one address does not make another address wait for all of them', async () => {
  const { accepted, open } = await serve(patient);
  const clients: Socket[] = [];
  while (clients.length < 50) clients.push(await open());
  clients.push(await open('127.0.0.2'));
  const clientHello = await clientHelloFor(undefined);
  for (const client of clients) client.write(clientHello);
  await vi.waitFor(() => expect(accepted).toHaveLength(51));
  expect(accepted.findIndex(({ remoteAddress }) => remoteAddress === '127.0.0.2')).toBeLessThan(10);
});

test('a connection is handed over with all that it sent, and not before its first message is complete', async () => {
  const { accepted, open } = await serve(patient);
  const client = await open();
  const clientHello = await clientHelloFor('a.localhost');
  for (const byte of clientHello.subarray(0, -1)) {
    client.write(Buffer.of(byte));
    await nextTurn();
  }
  expect(accepted).toHaveLength(0);
  client.write(clientHello.subarray(-1));
  await vi.waitFor(() => expect(accepted).toHaveLength(1));
  expect(accepted[0]?.read()).toEqual(clientHello);
});

test.each([
  [
    'sends only a part of its first message for too long',
    200,
    (client: Socket, clientHello: Buffer) => client.write(clientHello.subarray(0, 9)),
  ],
  [
    'ends before its first message is complete',
    60_000,
    (client: Socket, clientHello: Buffer) => client.end(clientHello.subarray(0, 9)),
  ],
  ['sends something else', 60_000, (client: Socket) => client.write('GET / HTTP/1.1\r\n\r\n')],
  ['sends another message of a handshake', 60_000, (client: Socket) => client.write(record(Buffer.of(2, 0, 0, 0)))],
  ['sends a record without content', 60_000, (client: Socket) => client.write(record(Buffer.alloc(0)))],
  ['never ends its first message', 60_000, (client: Socket) => client.write(Buffer.concat(endlessClientHello()))],
])('a connection that %s is closed', async (_, clientHelloMs, send) => {
  const { accepted, open } = await serve({ perTurn: 2, clientHelloMs });
  const client = await open();
  const closed = once(client.resume(), 'close');
  send(client, await clientHelloFor(undefined));
  await closed;
  expect(accepted).toHaveLength(0);
});

function record(payload: Buffer): Buffer {
  return Buffer.concat([Buffer.of(22, 3, 1, payload.length >> 8, payload.length & 0xff), payload]);
}

/** Records of a message that says that it is as long as it can be. */
function endlessClientHello(): readonly Buffer[] {
  const rest = Array.from({ length: maxClientHelloBytes / 1_000 + 1 }, () => record(Buffer.alloc(1_000)));
  return [record(Buffer.of(1, 0xff, 0xff, 0xff)), ...rest];
}
