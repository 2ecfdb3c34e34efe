import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { clientHelloFor } from '../../test/client-hello.ts';
import { RecordedLog } from '../../test/recorded-log.ts';
import { noMetrics } from '../core/ports/metrics.ts';
import { refuseFloods } from './refuse-floods.ts';

test('a TLS connection whose first message is complete only after the server stopped listening is closed', async () => {
  const accepted: Socket[] = [];
  const server = createServer((socket) => void accepted.push(socket));
  refuseFloods(server, {
    port: 'api',
    limits: { connectionsPerSource: 10, newConnectionsBurst: 10, newConnectionsPerSecond: 10 },
    handshakes: { perTurn: 4, clientHelloMs: 60_000 },
    trustProxy: false,
    metrics: noMetrics,
    log: new RecordedLog(),
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
  await Promise.all([once(client, 'connect'), once(server, 'connection')]);
  const clientHello = await clientHelloFor('a.localhost');
  client.write(clientHello.subarray(0, 50));
  server.close();
  const closed = Promise.all([once(client.resume(), 'close'), once(server, 'close')]);
  client.write(clientHello.subarray(50));
  await closed;
  expect(accepted).toEqual([]);
});
