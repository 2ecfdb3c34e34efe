import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { duplexPair } from 'node:stream';
import { expect, test } from 'vitest';
import { defaultGatewayLimits } from '../gateway-context.ts';
import { TunnelAgent, type TunnelRequestArgs } from './tunnel-agent.ts';

const target = { sandboxId: 'sbx_1', port: 3000 };
const visitorSignal = new AbortController().signal;

test('a reused tunnel does not accumulate listeners', async () => {
  const [tunnel, guest] = duplexPair();
  let opened = 0;
  guest.on('data', () => guest.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'));
  const connect = async () => {
    opened += 1;
    return tunnel;
  };
  const agent = new TunnelAgent(connect, defaultGatewayLimits);
  const ask = async (): Promise<number> => {
    const options: TunnelRequestArgs = { agent, target, visitorSignal };
    const [answer] = (await once(request(options).end(), 'response')) as [IncomingMessage];
    const free = once(agent, 'free');
    answer.resume();
    await free;
    return tunnel.eventNames().reduce((count, name) => count + tunnel.listenerCount(name), 0);
  };
  await ask();
  const listeners = await ask();
  for (let again = 0; again < 10; again += 1) expect(await ask()).toBe(listeners);
  expect(opened).toBe(1);
  agent.destroy();
});
