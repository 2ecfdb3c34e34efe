import { EventEmitter, once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { GuestAgent } from '#server/core/ports/guest-agent.ts';
import type { BenchHost } from '../support/bench-host.ts';
import { alternate, timed } from '../support/measure.ts';
import type { Row } from '../support/table.ts';

const rounds = 200;
const silenceMs = 2_000;

/** A terminal with a program that echoes what is typed. */
interface Typewriter {
  type(keys: string): void;
  /** Emits `printed`. */
  readonly events: EventEmitter;
  close(): void;
}

async function overWebSocket(bench: BenchHost, sandboxId: string): Promise<Typewriter> {
  const url = `${bench.url.replace(/^http/, 'ws')}/v1/sandboxes/${sandboxId}/pty`;
  const webSocket = new WebSocket(url, { headers: { authorization: `Bearer ${bench.key}` } });
  const events = new EventEmitter();
  webSocket.on('message', () => events.emit('printed'));
  await once(webSocket, 'open');
  return { type: (keys) => webSocket.send(Buffer.from(keys)), events, close: () => webSocket.close() };
}

async function directly(agent: GuestAgent): Promise<Typewriter> {
  const channel = await agent.startTerminal('term_bench', { cols: 80, rows: 24 }, '/workspace');
  const events = new EventEmitter();
  const read = async () => {
    for await (const _part of channel) events.emit('printed');
  };
  // It is closed in the end.
  read().catch(() => {});
  return { type: (keys) => void channel.type(Buffer.from(keys)), events, close: () => channel.close() };
}

/** Starts a program that echoes, and waits until nothing more is printed. */
async function prepare(terminal: Typewriter): Promise<void> {
  terminal.type('exec cat\r');
  for (let isSilent = false; !isSilent; ) {
    isSilent = await Promise.race([once(terminal.events, 'printed').then(() => false), wait(silenceMs, true)]);
  }
}

/** From a key to its echo. */
async function keystrokeMs(terminal: Typewriter): Promise<number> {
  const { ms } = await timed(async () => {
    const printed = once(terminal.events, 'printed');
    terminal.type('x');
    await printed;
  });
  return ms;
}

/** A key until its echo through the API, compared with typing directly into the terminal of an agent. */
export async function keystrokeRow(bench: BenchHost, sandboxId: string, agent: GuestAgent): Promise<Row> {
  const terminals = [await overWebSocket(bench, sandboxId), await directly(agent)] as const;
  const [api, raw] = terminals;
  try {
    for (const terminal of terminals) await prepare(terminal);
    const measure = () =>
      alternate(
        rounds,
        () => keystrokeMs(api),
        () => keystrokeMs(raw),
      );
    await alternate(
      20,
      () => keystrokeMs(api),
      () => keystrokeMs(raw),
    );
    return {
      name: 'key until its echo in a terminal',
      baseline: 'directly from the agent',
      target: 1.2,
      ...(await measure()),
    };
  } finally {
    for (const terminal of terminals) terminal.close();
  }
}
