// Repeats one request on several connections, in a separate thread so that it does not share the server's event loop.
import { connect } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import type { LoadOrder } from './load.ts';

const { port, request, connections, durationMs } = workerData as LoadOrder;
const endOfHead = Buffer.from('\r\n\r\n');
let answered = 0;
let refused: string | undefined;

/** Sends the next request as soon as a response is complete. Responses carry a Content-Length. */
function repeatRequest(untilMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let held = Buffer.alloc(0);
    let needed = 0;
    socket.setNoDelay(true);
    socket.on('connect', () => socket.write(request));
    socket.on('error', reject);
    socket.on('close', resolve);
    socket.on('data', (chunk) => {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      if (needed === 0) {
        const head = held.indexOf(endOfHead);
        if (head < 0) return;
        const text = held.toString('latin1', 0, head);
        if (!text.startsWith('HTTP/1.1 200')) refused ??= text.split('\r\n', 1)[0];
        needed = head + 4 + Number(/content-length: (\d+)/i.exec(text)?.[1]);
      }
      if (held.length < needed) return;
      held = held.subarray(needed);
      needed = 0;
      answered += 1;
      if (performance.now() < untilMs) socket.write(request);
      else socket.end();
    });
  });
}

const startedMs = performance.now();
await Promise.all(Array.from({ length: connections }, () => repeatRequest(startedMs + durationMs)));
parentPort?.postMessage({ answered, refused, elapsedMs: performance.now() - startedMs });
