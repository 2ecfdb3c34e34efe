import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Mayfly } from '@mayfly/sdk';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { length } from '../support/length.ts';

const totalBytes = length(256, 1024) * 1024 ** 2;
const pieceBytes = 64 * 1024;
/** A character of three bytes ends in the next piece, so every piece is sent as base64. */
const piece = Buffer.from('€'.repeat(pieceBytes)).subarray(0, pieceBytes);

/** A service that streams the output of a command as fast as it is read. */
const server = createServer((request, response) => {
  if (request.url?.endsWith('/exec') !== true) {
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ object: 'sandbox', id: 'sbx_x' }));
    return;
  }
  response.setHeader('content-type', 'text/event-stream');
  response.write('id: 0\nevent: start\ndata: {"id":"exec_x"}\n\n');
  const data = JSON.stringify({ data: piece.toString('base64'), encoding: 'base64' });
  let sentBytes = 0;
  const send = () => {
    while (sentBytes < totalBytes) {
      sentBytes += pieceBytes;
      if (!response.write(`id: ${sentBytes}\nevent: stdout\ndata: ${data}\n\n`))
        return void response.once('drain', send);
    }
    const exit = { id: 'exec_x', status: 'completed', exit_code: 0, stdout: '', stderr: '', truncated: true };
    response.end(`id: exit\nevent: exit\ndata: ${JSON.stringify(exit)}\n\n`);
  };
  send();
});
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => void server.close());

it('a lot of output leaves the memory of the client flat', async () => {
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const sandbox = await new Mayfly({ baseUrl, apiKey: 'mf_x' }).sandboxes.get('sbx_x');
  let seenBytes = 0;
  /** The most memory that was held while each half of the output was read. Server and client share this process. */
  const peaksBytes = [0, 0];
  const onStdout = (text: string) => {
    seenBytes += Buffer.byteLength(text);
    const half = seenBytes < totalBytes / 2 ? 0 : 1;
    const { heapUsed, external } = process.memoryUsage();
    peaksBytes[half] = Math.max(peaksBytes[half] ?? 0, heapUsed + external);
  };
  expect((await sandbox.exec('yes', { onStdout })).exitCode).toBe(0);
  // Every piece ends within a character, and the next one begins with another: both halves are replaced.
  expect(seenBytes).toBeGreaterThanOrEqual(totalBytes);
  const [firstMb = 0, secondMb = 0] = peaksBytes.map((bytes) => Math.round(bytes / 1024 ** 2));
  console.log(
    `${totalBytes / 1024 ** 2} MiB of output: at most ${firstMb} MiB held in the first half, ${secondMb} in the second`,
  );
  expect(secondMb - firstMb).toBeLessThan(totalBytes / 1024 ** 2 / 5);
});
