import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createSandbox, exec } from '../support/api-requests.ts';
import { length } from '../support/length.ts';
import { openEvents, receive, startInBackground } from '../support/live-commands.ts';
import { unlimitedRates } from '../support/service-settings.ts';
import { ShownTerminal } from '../support/shown-terminal.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

/** Nothing is printed for this long: longer than the proxy allows, or a quarter of an hour. */
const silenceSeconds = length(70, 900);
/** A proxy closes connections that carry nothing for a minute, as nginx does. */
const proxyIdleMs = 60_000;

let service: TestService;
let proxy: Server;
let url: string;
let cutConnections = 0;
beforeAll(async () => {
  service = await startTestService({ ...unlimitedRates, MAYFLY_LOG_LEVEL: 'error' });
  proxy = createServer(passOn).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
});
afterAll(async () => {
  proxy?.close();
  await service?.stop();
});

/** Passes bytes on in both directions, and closes the connection if none came from the service for too long. */
function passOn(client: Socket): void {
  const upstream = connect(Number(new URL(service.url).port), '127.0.0.1');
  upstream.setTimeout(proxyIdleMs, () => {
    cutConnections += 1;
    upstream.destroy();
  });
  for (const [from, to] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    from.pipe(to);
    from.on('error', () => to.destroy());
    from.on('close', () => to.destroy());
  }
}

it('a stream and a terminal that are silent for long stay open through a proxy that closes idle connections', async () => {
  const { id } = await createSandbox(service, { timeout_minutes: 60 });
  const target = { url, key: service.key };
  const background = await startInBackground(service, id, 'until [ -e go ]; do sleep 1; done; echo woke up');
  const response = await openEvents(target, `/executions/${background.id}/stream`);
  const terminal = await ShownTerminal.open(target, id, 'cols=80&rows=24');
  await terminal.until((lines) => /\$ ?$/.test(lines.at(-1) ?? ''));
  const receiving = receive(response);
  await pause(silenceSeconds * 1_000);
  await exec(service, id, 'touch go');
  const received = await receiving;
  expect(received.text()).toBe('woke up\n');
  expect(received.exit).toMatchObject({ status: 'completed', exit_code: 0 });
  terminal.type('echo still here; exit 3\r');
  expect((await terminal.client.untilClosed()).code).toBe(1000);
  expect(await terminal.lines()).toContain('still here');
  expect(terminal.client.told.at(-1)).toEqual({ type: 'exit', exit_code: 3 });
  // Connections that serve single requests may be cut.
  console.log(`${silenceSeconds} s of silence; the proxy cut ${cutConnections} other connections`);
}, 1_200_000);
