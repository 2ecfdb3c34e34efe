import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { OpenStream } from '../../core/executions/live/open-streams.ts';

/** Told to clients: how long to wait before they open a stream again that was cut. */
const retryMs = 1_000;

/** Sends events as `text/event-stream`. The stream is closed once they are sent or the connection is gone. */
export function sendEventStream(
  reply: FastifyReply,
  texts: AsyncGenerator<string, void>,
  stream: OpenStream,
): FastifyReply {
  const close = () => stream[Symbol.dispose]();
  if (reply.raw.destroyed) close();
  else reply.raw.once('close', close);
  return (
    reply
      .type('text/event-stream; charset=utf-8')
      .header('cache-control', 'no-store')
      // Tells nginx not to collect the response before it passes it on.
      .header('x-accel-buffering', 'no')
      .send(
        Readable.from(
          untilCut(texts, stream, () => reply.raw.destroy()),
          { objectMode: false },
        ),
      )
  );
}

/** The first line also makes the headers leave at once. A stream that is cut is not a failure of the service, which would be logged. */
async function* untilCut(
  texts: AsyncGenerator<string, void>,
  { signal }: OpenStream,
  cut: () => void,
): AsyncGenerator<string, void> {
  try {
    yield `retry: ${retryMs}\n\n`;
    yield* texts;
  } catch (error) {
    if (!signal.aborted) throw error;
    cut();
  }
}

/** One event. */
export function eventText(id: string | number, event: string, data: object): string {
  return `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Keeps proxies from closing the connection. */
export const keepAliveComment = ': keep-alive\n\n';
/** After this long without an event, a comment is sent. */
export const keepAliveMs = 15_000;

/** Passes values on, and undefined whenever none came for the time that `silenceMs` returns. */
export async function* orSilence<T>(
  source: AsyncGenerator<T, void>,
  silenceMs: () => number,
): AsyncGenerator<T | undefined, void> {
  try {
    let next = source.next();
    for (;;) {
      let timer: NodeJS.Timeout | undefined;
      const silence = new Promise<undefined>((resolve) => {
        timer = setTimeout(() => resolve(undefined), silenceMs());
      });
      const first = await Promise.race([next, silence]).finally(() => clearTimeout(timer));
      if (first?.done) return;
      // If the reader goes while a value is awaited, nobody is left to handle its failure.
      if (first === undefined) next.catch(() => {});
      yield first?.value;
      if (first !== undefined) next = source.next();
    }
  } finally {
    await source.return();
  }
}
