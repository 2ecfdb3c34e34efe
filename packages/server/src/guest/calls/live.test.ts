import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { attachTo, frame, type Handler, openPeer, respondJson, serve } from '../../../test/guest/peer.ts';
import { type GuestAgent, GuestRefusal, GuestUnreachable, type LivePart } from '../../core/ports/guest-agent.ts';
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

const started = frame(0, { started_at_ms: 1 });
const times = { duration_ms: 1, started_at_ms: 1, finished_at_ms: 2, stdout_bytes: 1, stderr_bytes: 0 };
const ended = frame(3, { exit_code: 0, signal: 0, timed_out: false, oom_killed: false, truncated: false, ...times });

/** Answers a live command with these bytes. */
const answerWith =
  (...frames: Buffer[]): Handler =>
  (stream) => {
    stream.respond({ ':status': 200 });
    stream.end(Buffer.concat(frames));
  };

const collect = async (agent: GuestAgent): Promise<LivePart[]> => {
  const parts: LivePart[] = [];
  for await (const part of await agent.continueLive('exec_1', 7)) parts.push(part);
  return parts;
};

test('output arrives in order, with its gaps, until the end', async () => {
  const asked: string[] = [];
  const frames = [started, frame(1, 'a'), frame(1, 'b'), frame(2, 'c'), frame(4, { bytes: 9 }), frame(1, 'd'), ended];
  const agent = await attached((stream, path, method) => {
    asked.push(`${method} ${path}`);
    return answerWith(...frames)(stream, path, method);
  });
  const parts = await collect(agent);
  expect(parts.map((part) => ('bytes' in part ? `${part.kind} ${part.bytes.toString()}` : part.kind))).toEqual([
    'stdout ab',
    'stderr c',
    'gap',
    'stdout d',
    'ended',
  ]);
  expect(asked).toEqual(['GET /live/exec_1?after=7']);
});

test('a refusal is thrown before anything is read', async () => {
  const agent = await attached((stream) =>
    respondJson(stream, 404, { code: 'not_found', message: 'no such execution' }),
  );
  await expect(agent.continueLive('exec_1', 0)).rejects.toThrow(GuestRefusal);
});

test.each([
  ['output before the start', [frame(1, 'a')]],
  ['a second start', [started, started]],
  ['an empty frame', [started, frame(1, '')]],
  ['a frame after the end', [started, ended, frame(1, 'a')]],
  ['an unknown frame', [started, frame(9, 'a')]],
  ['a gap of nothing', [started, frame(4, { bytes: 0 })]],
  ['a result that is not one', [started, frame(3, { exit_code: 'x' })]],
])('%s fails the reading', async (_title, frames) => {
  const agent = await attached(answerWith(...frames));
  await expect(collect(agent)).rejects.toThrow(ProtocolViolation);
});

test('an answer that ends without a result is a lost connection', async () => {
  const agent = await attached(answerWith(started, frame(1, 'a')));
  await expect(collect(agent)).rejects.toThrow(GuestUnreachable);
});

test('closing ends a reading that waits, and the agent sees it', async () => {
  const seen = Promise.withResolvers<void>();
  const agent = await attached((stream) => {
    stream.respond({ ':status': 200 });
    stream.write(started);
    stream.once('close', seen.resolve);
  });
  const output = await agent.continueLive('exec_1', 0);
  const reading = (async () => {
    for await (const _ of output);
  })();
  await wait(20);
  output.close();
  await expect(reading).rejects.toThrow(GuestUnreachable);
  await seen.promise;
});

test('a reader that does not read holds the agent back', async () => {
  let sent = 0;
  const agent = await attached(async (stream) => {
    stream.respond({ ':status': 200 });
    stream.write(started);
    for (; sent < 64 * 1024 ** 2 && !stream.destroyed; sent += 32_768) {
      if (!stream.write(frame(1, Buffer.alloc(32_768)))) await once(stream, 'drain').catch(() => {});
    }
  });
  const output = await agent.continueLive('exec_1', 0);
  const parts = output[Symbol.asyncIterator]();
  await parts.next();
  await wait(300);
  expect(sent).toBeLessThan(4 * 1024 ** 2);
  output.close();
  await parts.return?.();
});

test('stdin and signals are passed on', async () => {
  const asked: string[] = [];
  const agent = await attached(async (stream, path, method) => {
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    asked.push(`${method} ${path} ${Buffer.concat(chunks).toString()}`);
    stream.respond({ ':status': 204 }, { endStream: true });
  });
  await agent.writeStdin('exec_1', Buffer.from('typed'), false);
  await agent.writeStdin('exec_1', Buffer.alloc(0), true);
  await agent.signalExecution('exec_1', 15);
  expect(asked).toEqual([
    'POST /executions/exec_1/stdin?close=0 typed',
    'POST /executions/exec_1/stdin?close=1 ',
    'POST /executions/exec_1/kill {"signal":15}',
  ]);
});
