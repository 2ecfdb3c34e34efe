import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { attachTo, frame, type Handler, openPeer, respondJson, serve } from '../../../test/guest/peer.ts';
import { type GuestAgent, GuestRefusal, GuestUnreachable, type TerminalPart } from '../../core/ports/guest-agent.ts';
import { ProtocolViolation } from '../guest-errors.ts';

const agents: GuestAgent[] = [];
afterEach(() => {
  for (const agent of agents.splice(0)) agent.close();
});

async function attached(handler: Handler): Promise<GuestAgent> {
  const peer = await openPeer();
  const serving = serve(peer, handler);
  const agent = await attachTo(peer);
  await serving;
  agents.push(agent);
  return agent;
}

const position = frame(2, { position: 7, end: 9 });
const exit = frame(3, { exit_code: 5 });

/** Answers a terminal with these frames. */
const answerWith =
  (...frames: Buffer[]): Handler =>
  (stream) => {
    stream.respond({ ':status': 200 });
    stream.end(Buffer.concat(frames));
  };

const view = async (agent: GuestAgent): Promise<TerminalPart[]> => {
  const parts: TerminalPart[] = [];
  for await (const part of await agent.viewTerminal('term_a', 7)) parts.push(part);
  return parts;
};

test('output arrives with its position, its sizes and the exit code', async () => {
  const asked: string[] = [];
  const agent = await attached((stream, path, method) => {
    asked.push(`${method} ${path}`);
    const sizes = [frame(1, { cols: 9, rows: 9 }), frame(1, { cols: 80, rows: 24 })];
    return answerWith(position, ...sizes, frame(0, 'l'), frame(0, 's'), exit)(stream, path, method);
  });
  expect(await view(agent)).toEqual([
    { kind: 'position', position: 7, end: 9 },
    { kind: 'size', size: { cols: 80, rows: 24 } },
    { kind: 'output', bytes: Buffer.from('ls') },
    { kind: 'exit', exitCode: 5 },
  ]);
  expect(asked).toEqual(['POST /terminals/term_a?after=7']);
});

test('what is typed and sizes go to the agent as frames, in order', async () => {
  const received: Buffer[] = [];
  const agent = await attached((stream) => {
    stream.respond({ ':status': 200 });
    stream.write(position);
    stream.on('data', (piece: Buffer) => received.push(piece));
  });
  const terminal = await agent.startTerminal('term_a', { cols: 80, rows: 24 }, '/workspace');
  await terminal.type(Buffer.alloc(40_000, 'x'));
  terminal.resize({ cols: 90, rows: 30 });
  const sent = () => Buffer.concat(received).toString('latin1');
  while (!sent().endsWith('}')) await wait(10);
  expect(sent()).toMatch(/\{"cols":90,"rows":30\}$/);
  expect(sent().match(/x/g)).toHaveLength(40_000);
  terminal.close();
  await expect(terminal.type(Buffer.from('late'))).rejects.toThrow(GuestUnreachable);
});

test('a refusal is thrown before anything is read', async () => {
  const agent = await attached((stream) =>
    respondJson(stream, 404, { code: 'not_found', message: 'no such terminal' }),
  );
  await expect(agent.viewTerminal('term_a', 0)).rejects.toThrow(GuestRefusal);
  await agent.endTerminal('term_a');
});

test('an end without an exit code is a lost connection', async () => {
  const agent = await attached(answerWith(position, frame(0, 'ls')));
  await expect(view(agent)).rejects.toThrow(GuestUnreachable);
});

test.each([
  ['a size that is too large', frame(1, { cols: 501, rows: 24 })],
  ['a size that is no number', frame(1, { cols: '80', rows: 24 })],
  ['a negative position', frame(2, { position: -1, end: 0 })],
  ['an exit code out of range', frame(3, { exit_code: 256 })],
  ['a frame of an unknown type', frame(9, 'x')],
  ['a second position', position],
  ['a flood of sizes', Buffer.concat(Array.from({ length: 1_025 }, () => frame(1, { cols: 80, rows: 24 })))],
])('%s is refused', async (_name, hostile) => {
  const agent = await attached(answerWith(position, hostile, exit));
  await expect(view(agent)).rejects.toThrow(ProtocolViolation);
});

test('terminals are listed by their ids', async () => {
  const agent = await attached((stream, path, method) =>
    respondJson(stream, 200, { terminals: [`${method} ${path}`, 'term_b'] }),
  );
  expect(await agent.listTerminals()).toEqual(['GET /terminals', 'term_b']);
});

test.each([
  ['too many terminals', { terminals: Array<string>(65).fill('term_a') }],
  ['an id that is too long', { terminals: ['a'.repeat(129)] }],
  ['an id that is no text', { terminals: [7] }],
  ['no list', {}],
])('a list with %s is refused', async (_name, hostile) => {
  const agent = await attached((stream) => respondJson(stream, 200, hostile));
  await expect(agent.listTerminals()).rejects.toThrow(ProtocolViolation);
});
