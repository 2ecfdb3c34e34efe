import { createSecureContext } from 'node:tls';
import { expect, test } from 'vitest';
import { handshakesInTurn } from './handshake-turns.ts';

test('a flood of handshakes from one address does not make another address wait for all of them', async () => {
  const context = createSecureContext();
  const callback = handshakesInTurn(async () => context, 2);
  const order: string[] = [];
  const handshake = (remoteAddress: string) =>
    new Promise<void>((resolve) => {
      callback.call({ remoteAddress }, 'a.localhost', () => {
        order.push(remoteAddress);
        resolve();
      });
    });
  const flood = Array.from({ length: 50 }, () => handshake('198.51.100.1'));
  await handshake('198.51.100.2');
  expect(order.length).toBeLessThan(10);
  await Promise.all(flood);
});
