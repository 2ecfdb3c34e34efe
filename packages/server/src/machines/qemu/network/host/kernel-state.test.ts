import { expect, test } from 'vitest';
import { findUplinks, parseRoutes } from './kernel-state.ts';

test('the uplinks are the interfaces that lead to addresses a machine may reach', () => {
  const routes = parseRoutes(
    JSON.stringify([
      { dst: 'default', gateway: '192.168.1.1', dev: 'eth0' },
      { dst: '172.17.0.0/16', dev: 'docker0' },
      { dst: '203.0.113.0/24', nexthops: [{ dev: 'eth1' }, { dev: 'eth2' }] },
      { type: 'local', dst: '127.0.0.0/8', dev: 'lo' },
      { type: 'broadcast', dst: '203.0.113.255', dev: 'eth3' },
    ]),
  );
  expect(findUplinks(routes)).toEqual(['eth0', 'eth1', 'eth2']);
});
