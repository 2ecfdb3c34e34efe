import { describe, expect, it } from 'vitest';
import { ConnectionError } from '../errors.ts';
import { EventParser, readEvents, type StreamEvent } from './events.ts';

const text =
  'id: 0\nevent: start\ndata: {"id":"x"}\n\n: comment\n\nid: 5\nevent: stdout\ndata: grüße\ndata: 2\n\ndata:bare\n\n';
const events: readonly StreamEvent[] = [
  { id: '0', event: 'start', data: '{"id":"x"}' },
  { id: '5', event: 'stdout', data: 'grüße\n2' },
  { id: undefined, event: 'message', data: 'bare' },
];
const responseOf = (pull: (controller: ReadableStreamDefaultController<Uint8Array>) => void | Promise<void>) =>
  new Response(new ReadableStream<Uint8Array>({ pull }));

describe('a stream of events', () => {
  it('is the same however it is divided', () => {
    const bytes = new TextEncoder().encode(text);
    for (const size of [1, 2, 3, 7, 50, 1000]) {
      const parser = new EventParser();
      const seen: StreamEvent[] = [];
      for (let start = 0; start < bytes.length; start += size)
        seen.push(...parser.push(bytes.subarray(start, start + size)));
      expect(seen).toEqual(events);
    }
  });

  it('that is silent for too long counts as lost', async () => {
    const silent = responseOf(() => new Promise<void>(() => {}));
    await expect(readEvents(silent, { silenceMs: 20 }).next()).rejects.toThrow(ConnectionError);
  });

  it('that is cut counts as lost', async () => {
    const cut = responseOf((controller) => controller.error(new TypeError('terminated')));
    await expect(readEvents(cut).next()).rejects.toThrow('The stream was cut: terminated.');
  });

  it('ends with the reason of a signal', async () => {
    const abort = new AbortController();
    const reading = readEvents(
      responseOf(() => new Promise<void>(() => {})),
      { signal: abort.signal },
    ).next();
    abort.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
  });
});
