import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import {
  openTerminal,
  type RefusedUpgrade,
  type TestTerminal,
  tryTerminal,
} from '../../../test/http/terminal-client.ts';

let service: Awaited<ReturnType<typeof stubService>>;
let url: string;
let sandboxId: string;
const opened: TestTerminal[] = [];
beforeEach(async () => {
  service = await stubService();
  url = await service.app.listen({ port: 0, host: '127.0.0.1' });
  sandboxId = (await service.call('POST', '/v1/sandboxes')).body.id;
});
afterEach(async () => {
  for (const terminal of opened.splice(0)) terminal.webSocket.terminate();
  service.core.streams.cutAll();
  service.app.server.closeAllConnections();
  await service.core.screens[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

const path = (query = '', id = sandboxId) => `${url}/v1/sandboxes/${id}/pty${query}`;
const key = { authorization: 'Bearer mf_test_key' };
const open = async (query = '') => {
  const terminal = await openTerminal(path(query), key);
  opened.push(terminal);
  return terminal;
};
const refused = async (query = '', headers: Record<string, string> = key, id = sandboxId) =>
  (await tryTerminal(path(query, id), headers)) as RefusedUpgrade;
const shell = () => service.connector.terminals.newest;
const shows = (part: string) => (terminal: TestTerminal) => terminal.text.includes(part);

test('a new terminal has the size that was asked for, prints, and is typed into', async () => {
  const terminal = await open('?cols=100&rows=30');
  expect(terminal.told).toEqual([{ type: 'ready', session: shell().id, cols: 100, rows: 30 }]);
  shell().print('$ ');
  terminal.type('ls\n');
  await terminal.until(shows('$ '));
  await expect.poll(() => shell().typed).toEqual(['ls\n']);
});

test('bytes pass as they are, in both directions', async () => {
  const terminal = await open();
  const bytes = Buffer.from([0, 255, 128, 10, 13, 27]);
  shell().print(bytes);
  await terminal.until(({ printed }) => printed.length >= bytes.length);
  expect(terminal.printed).toEqual(bytes);
});

test('the exit code is told before the connection is closed', async () => {
  const terminal = await open();
  shell().print('bye');
  shell().exit(3);
  expect(await terminal.untilClosed()).toEqual({ code: 1000, reason: '' });
  expect(terminal.text).toBe('bye');
  expect(terminal.told.at(-1)).toEqual({ type: 'exit', exit_code: 3 });
});

test('another client is shown the same screen, and both see and change what follows', async () => {
  const first = await open();
  shell().print('\x1b[31mone\x1b[0m\r\ntwo');
  await first.until(shows('two'));
  const second = await open(`?session=${first.session}&cols=90&rows=20`);
  await second.until(shows('two'));
  expect(second.text.startsWith('\x1bc')).toBe(true);
  expect(second.session).toBe(first.session);
  shell().print('three');
  await Promise.all([first.until(shows('three')), second.until(shows('three'))]);
  await first.until(({ told }) => told.length > 1);
  expect(first.told[1]).toEqual({ type: 'resize', cols: 90, rows: 20 });
  second.send({ type: 'resize', cols: 70, rows: 10 });
  await first.until(({ told }) => told.length > 2);
  expect(first.told[2]).toEqual({ type: 'resize', cols: 70, rows: 10 });
});

test('a terminal goes on without a client, and shows its screen to one that comes back', async () => {
  const first = await open();
  shell().print('before ');
  await first.until(shows('before'));
  await first.leave();
  await expect.poll(() => shell().openViews).toBe(0);
  shell().print('meanwhile ');
  const second = await open(`?session=${first.session}`);
  await second.until(shows('meanwhile'));
  expect(second.text).toContain('before meanwhile');
  second.type('x');
  await expect.poll(() => shell().typed).toEqual(['x']);
});

test('a client that comes back with another size changes it', async () => {
  const first = await open('?cols=100&rows=30');
  await first.leave();
  await expect.poll(() => shell().openViews).toBe(0);
  const second = await open(`?session=${first.session}&cols=60`);
  await second.until(({ told }) => told.length > 1);
  expect(second.told).toEqual([
    { type: 'ready', session: first.session, cols: 100, rows: 30 },
    { type: 'resize', cols: 60, rows: 24 },
  ]);
});

test('a shell that exited while nobody looked is not found, and takes no place', async () => {
  const first = await open();
  await first.leave();
  await expect.poll(() => shell().openViews).toBe(0);
  shell().exit(0);
  expect(await refused(`?session=${first.session}`)).toMatchObject({
    status: 404,
    body: { error: { type: 'not_found' } },
  });
  expect(service.core.terminals.known.size).toBe(0);
});

test('a client that asks for answers and does not read them is disconnected', async () => {
  const terminal = await open();
  terminal.webSocket.pause();
  while (service.core.streams.count > 0) {
    for (let sent = 0; sent < 1_000; sent += 1) terminal.webSocket.send('?');
    await nextTurn();
  }
  expect(shell().hasExited).toBe(false);
});

test('output that is not kept any more does not spoil the screen', async () => {
  const first = await open();
  shell().print('lost');
  await first.until(shows('lost'));
  await first.leave();
  await expect.poll(() => shell().openViews).toBe(0);
  shell().print('xxxx');
  shell().print('kept');
  shell().keptFrom = 8;
  const second = await open(`?session=${first.session}`);
  await second.until(shows('kept'));
  expect(second.text).not.toContain('lost');
});

test('a lost connection to the machine is not noticed', async () => {
  const terminal = await open();
  shell().print('before ');
  await terminal.until(shows('before'));
  service.connector.disconnect();
  shell().print('after');
  terminal.type('x');
  await terminal.until(shows('after'));
  expect(terminal.text).toBe('before after');
  await expect.poll(() => shell().typed).toEqual(['x']);
});

test('a terminal of an earlier run of the service is found again', async () => {
  const first = await open();
  shell().print('from before');
  await first.until(shows('before'));
  service.core.terminals.known.clear();
  const second = await open(`?session=${first.session}`);
  await second.until(shows('from before'));
  expect(second.session).toBe(first.session);
});

test('a client hangs up, and all clients learn how the shell ended', async () => {
  const [first] = [await open()];
  const second = await open(`?session=${first.session}`);
  first.send({ type: 'close' });
  expect((await first.untilClosed()).code).toBe(1000);
  await second.untilClosed();
  expect(second.told.at(-1)).toEqual({ type: 'exit', exit_code: 129 });
  expect(await refused(`?session=${first.session}`)).toMatchObject({
    status: 404,
    body: { error: { type: 'not_found' } },
  });
});

test('clients are told when the sandbox is deleted', async () => {
  const terminal = await open();
  await service.call('DELETE', `/v1/sandboxes/${sandboxId}`);
  expect(await terminal.untilClosed()).toEqual({ code: 1001, reason: 'the sandbox was stopped' });
  expect(service.core.terminals.known.size).toBe(0);
});

test('a stop of the service tells clients to connect again', async () => {
  const terminal = await open();
  service.core.streams.cutAll();
  expect((await terminal.untilClosed()).code).toBe(1012);
});

test('a message that is not understood is answered, and nothing is lost', async () => {
  const terminal = await open();
  for (const message of ['ls', '{}', '{"type":"resize","cols":0,"rows":5}', '[]', 'null'])
    terminal.webSocket.send(message);
  await terminal.until(({ told }) => told.length === 6);
  expect(terminal.told.slice(1).every(({ type }) => type === 'error')).toBe(true);
  terminal.type('ls');
  await expect.poll(() => shell().typed).toEqual(['ls']);
});

test('a message that is too large closes the connection; the terminal goes on', async () => {
  const terminal = await open();
  terminal.type(Buffer.alloc(262_145));
  expect((await terminal.untilClosed()).code).toBe(1009);
  await open(`?session=${terminal.session}`);
});

test('a client is not read while the shell does not read', async () => {
  const terminal = await open();
  const reading = Promise.withResolvers<void>();
  shell().reading = reading.promise;
  const piece = Buffer.alloc(200_000, 'p');
  let isSent = false;
  for (let sent = 0; sent < 320; sent += 1) {
    terminal.webSocket.send(piece, () => {
      isSent = sent === 319;
    });
  }
  await wait(1_000);
  expect(isSent).toBe(false);
  reading.resolve();
  await expect.poll(() => isSent).toBe(true);
  const typedBytes = () => shell().typed.reduce((sum, typed) => sum + typed.length, 0);
  await expect.poll(() => typedBytes()).toBe(64_000_000);
});

test('a client that does not read holds nobody, and is shown the screen when it reads again', async () => {
  const slow = await open();
  const quick = await open(`?session=${slow.session}`);
  slow.webSocket.pause();
  const lines = `${'x'.repeat(1_022)}\r\n`.repeat(32);
  for (let printed = 0; printed < 1_024; printed += 1) {
    shell().print(lines);
    await nextTurn();
  }
  shell().print('the last line');
  await quick.until(shows('the last line'));
  slow.webSocket.resume();
  await slow.until(shows('the last line'));
  expect(slow.printedBytes).toBeLessThan(quick.printedBytes);
});

describe('refusals are ordinary responses', () => {
  test.each([
    ['?cols=0', 400, 'invalid_request'],
    ['?rows=201', 400, 'invalid_request'],
    ['?cols=501&rows=x', 400, 'invalid_request'],
    ['?session=term_a&session=term_b', 400, 'invalid_request'],
    ['?session=term_aaaa', 404, 'not_found'],
    ['?session=../x', 404, 'not_found'],
  ])('%s', async (query, status, type) => {
    const answer = await refused(query);
    expect(answer).toMatchObject({ status, body: { error: { type } } });
    expect(answer.headers).toMatchObject({
      'ratelimit-limit': '120',
      'x-request-id': expect.anything(),
    });
  });

  test('without a key, with an unknown one, and for an unknown sandbox', async () => {
    expect(await refused('', {})).toMatchObject({ status: 401, body: { error: { type: 'unauthorized' } } });
    expect(await refused('', { authorization: 'Bearer mf_x' })).toMatchObject({ status: 401 });
    expect(await refused('', key, 'sbx_unknown')).toMatchObject({ status: 404 });
  });

  test('when the agent refuses', async () => {
    service.connector.terminals.refusal = 'too_many';
    expect(await refused()).toMatchObject({ status: 429, body: { error: { type: 'rate_limit_exceeded' } } });
    expect(service.core.terminals.known.size).toBe(0);
  });

  test('of the seventeenth terminal of a sandbox', async () => {
    const terminals = await Promise.all(Array.from({ length: 16 }, () => open()));
    expect(await refused()).toMatchObject({
      status: 429,
      body: { error: { message: expect.stringContaining('16 of this sandbox') } },
    });
    terminals[0]?.send({ type: 'close' });
    await terminals[0]?.untilClosed();
    await open();
  });

  test('of a request that is no WebSocket, and of handshakes that are not valid', async () => {
    const plain = await service.call('GET', `/v1/sandboxes/${sandboxId}/pty`);
    expect([plain.status, plain.body]).toMatchObject([400, { error: { type: 'request_error' } }]);
    expect(await raw('Sec-WebSocket-Version: 13')).toMatch(/^HTTP\/1\.1 400 [\s\S]*handshake is not valid/);
    expect(await raw('Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==')).toMatch(
      /^HTTP\/1\.1 400 /,
    );
    expect(
      await raw('Content-Length: 3\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='),
    ).toMatch(/^HTTP\/1\.1 400 /);
  });
});

/** Sends a handshake with these headers and returns the response. */
async function raw(headers: string): Promise<string> {
  const { port, host } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(
    `GET /v1/sandboxes/${sandboxId}/pty HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer mf_test_key\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n${headers}\r\n\r\nabc`,
  );
  return await text(socket);
}

test('a handshake behind a request that is being answered does no harm', async () => {
  const { port, host } = new URL(url);
  for (const first of ['GET /docs', 'GET /healthz', `GET /v1/sandboxes/${sandboxId}`]) {
    const socket = connect(Number(port), '127.0.0.1');
    const handshake = `GET /v1/sandboxes/${sandboxId}/pty HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n`;
    socket.write(`${first} HTTP/1.1\r\nHost: ${host}\r\n\r\n${handshake}`);
    expect((await text(socket)).match(/HTTP\/1\.1 (200|40[01]) /g)).toHaveLength(2);
  }
});

test('pings are answered, but a flood of them does not fill memory', async () => {
  const terminal = await open();
  terminal.webSocket.ping('are you there');
  const [pong] = (await once(terminal.webSocket, 'pong')) as [Buffer];
  expect(pong.toString()).toBe('are you there');
  let pongs = 0;
  terminal.webSocket.on('pong', () => {
    pongs += 1;
  });
  terminal.webSocket.pause();
  for (let sent = 0; sent < 100_000; sent += 1) terminal.webSocket.ping();
  await expect.poll(() => terminal.webSocket.bufferedAmount).toBe(0);
  terminal.webSocket.resume();
  terminal.type('x');
  await expect.poll(() => shell().typed).toEqual(['x']);
  expect(pongs).toBeLessThan(100_000);
});

test('single bytes that a client does not read do not fill memory', async () => {
  const terminal = await open();
  terminal.webSocket.pause();
  for (let printed = 0; printed < 200_000; printed += 1) shell().print('x');
  shell().print('\r\nthe last line');
  await nextTurn();
  terminal.webSocket.resume();
  await terminal.until(shows('the last line'));
  expect(terminal.printedBytes).toBeLessThan(200_000);
});

test('a change of the size stays between what was printed before and after it', async () => {
  const first = await open();
  shell().print('before');
  await first.until(shows('before'));
  await first.leave();
  await expect.poll(() => shell().openViews).toBe(0);
  const order: string[] = [];
  const second = await openTerminal(path(`?session=${first.session}`), key, ({ webSocket }) => {
    webSocket.on('message', (data: Buffer, isBinary) => {
      order.push(isBinary ? data.toString() : (JSON.parse(data.toString()) as { type: string }).type);
    });
    // The stub prints and resizes while the screen is being made.
    webSocket.once('open', () => {
      shell().resizeTo({ cols: 70, rows: 10 });
      shell().print('for the new size');
    });
  });
  opened.push(second);
  await second.until(shows('for the new size'));
  expect(order.indexOf('resize')).toBeLessThan(order.findIndex((one) => one.includes('for the new size')));
  expect(order[0]).toBe('ready');
});

test('other upgrades are ignored', async () => {
  const { port, host } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(`GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n`);
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 /);
});

test('a ticket opens a terminal once', async () => {
  const { ticket } = (await service.call('POST', '/v1/tickets')).body as unknown as { ticket: string };
  const terminal = await openTerminal(path(`?ticket=${ticket}`), {});
  opened.push(terminal);
  expect(await refused(`?ticket=${ticket}`, {})).toMatchObject({ status: 401 });
});

test('a terminal of one sandbox cannot be reached through another', async () => {
  const first = await open();
  const other = (await service.call('POST', '/v1/sandboxes')).body.id;
  // All stubbed machines have the same terminals, like a guest that claims to have any.
  const second = await openTerminal(path(`?session=${first.session}`, other), key);
  opened.push(second);
  await second.leave();
  shell().print('still mine');
  await first.until(shows('still mine'));
  const third = await open(`?session=${first.session}`);
  await third.until(shows('still mine'));
  expect(shell().openViews).toBe(1);
});
