import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { StartFailure } from '../process/start-failure.ts';
import { openablePorts } from './openable-ports.ts';
import { refuseMissingFiles } from './processes.ts';

const host = '127.0.0.1';
let other: Server;
let taken: number;
beforeEach(async () => {
  other = createServer().listen(0, host);
  await once(other, 'listening');
  taken = (other.address() as AddressInfo).port;
});
afterEach(() => other.close());

const open = (settings: Partial<Parameters<typeof openablePorts>[0]>) =>
  openablePorts({ host, port: 0, previewHost: host, previewPort: 0, ...settings });

test('a taken port is explained as the service explains it for ports that it opens itself', async () => {
  const refused = open({ port: taken });
  await expect(refused).rejects.toThrow(StartFailure);
  await expect(refused).rejects.toThrow(`Port ${taken} on ${host} is used by another program.`);
  await expect(open({ previewPort: taken })).rejects.toThrow('set MAYFLY_PREVIEW_PORT to another port');
});

test('an address or a name that this host does not have is explained', async () => {
  await expect(open({ host: '203.0.113.1', port: taken })).rejects.toThrow('Set MAYFLY_HOST to one of its addresses');
  await expect(open({ host: 'nowhere.invalid', port: taken })).rejects.toThrow(/MAYFLY_HOST/);
});

test('a free port is left free for mayfly-jail', async () => {
  other.close();
  await once(other, 'close');
  for (let attempt = 0; attempt < 2; attempt += 1) {
    expect(await open({ port: taken })).toEqual([
      { name: 'api', address: host, port: taken },
      { name: 'previews', address: host, port: 0 },
    ]);
  }
});

test('a file that a setting names may appear later, e.g. the folder of PostgreSQL’s socket', () => {
  refuseMissingFiles({ PGHOST: '/tmp' });
  expect(() => refuseMissingFiles({ PGHOST: '/nowhere/postgresql' })).toThrow(
    expect.objectContaining({ name: 'StartFailure', mayPass: true }),
  );
  expect(() => refuseMissingFiles({ PGHOST: '/nowhere/postgresql' })).toThrow('/nowhere/postgresql must exist');
});
