import { setTimeout as pause } from 'node:timers/promises';
import { bytesOf, type ReceivedEvent, readEvents } from '@mayfly/contract/testing';
import { expect } from 'vitest';
import { call, type ExecutionBody, type Target } from './api-requests.ts';

/** Starts a background command and expects 202. */
export async function startInBackground(
  target: Target,
  sandboxId: string,
  command: string,
  options: Record<string, unknown> = {},
): Promise<ExecutionBody> {
  const response = await call(target, 'POST', `/sandboxes/${sandboxId}/exec`, {
    command,
    background: true,
    ...options,
  });
  expect(response.status).toBe(202);
  return (await response.json()) as ExecutionBody;
}

/** Opens a stream of events and expects 200. */
export async function openEvents(
  target: Target,
  path: string,
  { body, lastEventId, signal }: { body?: object; lastEventId?: string | undefined; signal?: AbortSignal } = {},
): Promise<Response> {
  const response = await fetch(`${target.url}/v1${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${target.key}`,
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal !== undefined && { signal }),
  });
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  return response;
}

/** What a client has received of an execution, over any number of connections. */
export class Received {
  readonly events: ReceivedEvent[] = [];
  lastEventId: string | undefined;
  lostBytes = 0;
  exit: ExecutionBody | undefined;
  connections = 0;
  #position: number;
  readonly #pieces: { readonly stream: string; readonly bytes: Buffer }[] = [];

  /** For a client that continues after this many bytes. */
  constructor(position = 0) {
    this.#position = position;
  }

  /** Adds an event. Fails the test if bytes are missing before it or come twice. */
  add(event: ReceivedEvent): void {
    this.events.push(event);
    this.lastEventId = event.id;
    if (event.event === 'exit') {
      this.exit = event.data as unknown as ExecutionBody;
      return;
    }
    if (event.event === 'start') return;
    const bytes = event.event === 'gap' ? Buffer.alloc(0) : bytesOf(event);
    const lost = event.event === 'gap' ? Number(event.data.bytes) : 0;
    this.lostBytes += lost;
    this.#position += bytes.length + lost;
    expect(Number(event.id), 'every byte comes once').toBe(this.#position);
    this.#pieces.push({ stream: event.event, bytes });
  }

  /** The output of one stream, or of both in the order in which it came. */
  text(stream?: 'stdout' | 'stderr'): string {
    const pieces = this.#pieces.filter((piece) => stream === undefined || piece.stream === stream);
    return Buffer.concat(pieces.map(({ bytes }) => bytes)).toString();
  }
}

/** Reads a stream until it ends or `isEnough`. */
export async function receive(
  response: Response,
  received = new Received(),
  isEnough: (received: Received) => boolean = () => false,
): Promise<Received> {
  received.connections += 1;
  for await (const event of readEvents(response)) {
    received.add(event);
    if (isEnough(received)) break;
  }
  return received;
}

/** Follows an execution to its end as a careful client does: whenever the stream is cut, or the service is away, it continues after the last event. */
export async function receiveToTheEnd(
  target: Target,
  executionId: string,
  received = new Received(),
): Promise<Received> {
  while (received.exit === undefined) {
    try {
      const path = `/executions/${executionId}/stream`;
      await receive(await openEvents(target, path, { lastEventId: received.lastEventId }), received);
    } catch (error) {
      if (error instanceof Error && error.name === 'AssertionError') throw error;
    }
    if (received.exit === undefined) await pause(200);
  }
  return received;
}
