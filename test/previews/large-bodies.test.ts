import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSandbox } from '../support/api-requests.ts';
import { openWebSocket } from '../support/previews/connections.ts';
import { startBulkServer } from '../support/previews/guest-server.ts';
import { type OpenPreview, openPreview } from '../support/previews/preview-fixture.ts';
import { protocols, startVisit, visit, visitJson } from '../support/previews/visit.ts';
import { type Peaks, peaksDuring } from '../support/process-memory.ts';
import { RestartableService } from '../support/restartable-service.ts';

const port = 3000;
const block = Buffer.alloc(65_536, 'mayfly ');
/** 100 MB, in two equal halves of whole blocks. */
const largeBytes = 2 * 763 * block.length;
/** How much the memory of a busy process fluctuates; less than half of what is transferred. */
const slackMib = 32;
const deadlineMs = 500_000;
let service: RestartableService;
let preview: OpenPreview;
beforeAll(async () => {
  service = await RestartableService.create({ MAYFLY_POOL: 'none', MAYFLY_LOG_LEVEL: 'trace' });
  const { id } = await createSandbox(service);
  await startBulkServer(service, id, port);
  preview = await openPreview(service, id, port);
});
afterAll(() => service.remove());

/** The given number of bytes, generated on demand. */
function* bytes(count: number): Generator<Buffer> {
  for (let remaining = count; remaining > 0; remaining -= block.length)
    yield remaining < block.length ? block.subarray(0, remaining) : block;
}
let expectedCrc = 0;
for (const chunk of bytes(largeBytes)) expectedCrc = crc32(chunk, expectedCrc);

/** The number of preview requests that are open, from the service's metrics. */
async function openVisits(): Promise<number> {
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  return Number(/^mayfly_previews_open (\d+)$/m.exec(metrics)?.[1]);
}

function expectNotBuffered(what: string, { firstHalfMib, secondHalfMib }: Peaks, startedMs: number): void {
  const [first, second, ms] = [firstHalfMib, secondHalfMib, performance.now() - startedMs].map(Math.round);
  console.log(
    `${what} of 100 MB: ${ms} ms, peak resident memory ${first} MiB in the first half, ${second} MiB in the second`,
  );
  expect(secondHalfMib).toBeLessThan(firstHalfMib + slackMib);
}

describe('100 MB pass through the service without being buffered in it', () => {
  it('as a download over HTTP/1.1', async () => {
    let crc = 0;
    const startedMs = performance.now();
    const peaks = await peaksDuring(service.pid, async (atHalf) => {
      const { body } = await startVisit(preview, `/?count=${largeBytes}`, { deadlineMs });
      let received = 0;
      for await (const chunk of body as AsyncIterable<Buffer>) {
        crc = crc32(chunk, crc);
        if (received < largeBytes / 2 && received + chunk.length >= largeBytes / 2) await atHalf();
        received += chunk.length;
      }
    });
    expect(crc).toBe(expectedCrc);
    expectNotBuffered('download', peaks, startedMs);
  });

  it('as an upload over HTTP/2', async () => {
    const startedMs = performance.now();
    const peaks = await peaksDuring(service.pid, async (atHalf) => {
      const twoHalves = async function* () {
        yield* bytes(largeBytes / 2);
        await atHalf();
        yield* bytes(largeBytes / 2);
      };
      const upload = { method: 'POST', body: Readable.from(twoHalves()), protocol: 'HTTP/2', deadlineMs } as const;
      expect(await visitJson(preview, '/', upload)).toEqual({ bytes: largeBytes, crc32: expectedCrc });
    });
    expectNotBuffered('upload', peaks, startedMs);
  });
});

it.each(protocols)(
  'a visitor who disconnects during a large response over %s leaves nothing behind',
  async (protocol) => {
    const { body } = await startVisit(preview, `/?count=${largeBytes}`, { protocol, deadlineMs });
    for await (const _ of body) break;
    await expect.poll(openVisits).toBe(0);
    expect((await visit(preview, '/?count=5', { protocol })).status).toBe(200);
  },
);

it('the log contains no preview token, even at the most verbose level', async () => {
  await expect(openWebSocket(preview)).rejects.toThrow();
  await visit(preview, `/?count=5&${preview.token}`, { headers: { referer: preview.url, origin: preview.url } });
  await visit({ ...preview, url: preview.url.replace(preview.token, 'abcdefghijklmnop') });
  expect(service.log).toContain('preview');
  expect(service.log).not.toContain(preview.token);
});
