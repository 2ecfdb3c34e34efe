import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ServiceProcess } from '../support/chaos/service-process.ts';
import { createSandbox } from '../support/http.ts';
import { startBulkServer } from '../support/previews/guest-server.ts';
import { type OpenPreview, openPreview } from '../support/previews/open-preview.ts';
import { type Peaks, peaksDuring } from '../support/previews/resident.ts';
import { openSocket } from '../support/previews/socket.ts';
import { begin, protocols, visit, visitJson } from '../support/previews/visit.ts';

const port = 3000;
const block = Buffer.alloc(65_536, 'mayfly ');
/** 100 MB, in two equal halves of whole blocks. */
const largeBytes = 2 * 763 * block.length;
/** What a process that works holds more at one moment than at another; less than half of what goes through. */
const slackMib = 32;
const deadlineMs = 110_000;
let service: ServiceProcess;
let preview: OpenPreview;
beforeAll(async () => {
  service = await ServiceProcess.create({ MAYFLY_POOL: 'none', MAYFLY_LOG_LEVEL: 'trace' });
  const { id } = await createSandbox(service);
  await startBulkServer(service, id, port);
  preview = await openPreview(service, id, port);
});
afterAll(() => service.remove());

/** So many bytes, made as they are taken. */
function* bytes(count: number): Generator<Buffer> {
  for (let left = count; left > 0; left -= block.length) yield left < block.length ? block.subarray(0, left) : block;
}
let expected = 0;
for (const piece of bytes(largeBytes)) expected = crc32(piece, expected);

/** How many requests are open through the service's previews. */
const openVisits = async (): Promise<number> => {
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  return Number(/^mayfly_previews_open (\d+)$/m.exec(metrics)?.[1]);
};

const expectFlat = (what: string, { firstMib, secondMib }: Peaks, startedMs: number): void => {
  const [first, second, ms] = [firstMib, secondMib, performance.now() - startedMs].map(Math.round);
  console.log(
    `${what} of 100 MB: ${ms} ms, at most ${first} MiB resident in the first half, ${second} MiB in the second`,
  );
  expect(secondMib).toBeLessThan(firstMib + slackMib);
};

describe('100 MB go through the service without staying in it', () => {
  it('down, over HTTP/1.1', async () => {
    let crc = 0;
    const startedMs = performance.now();
    const peaks = await peaksDuring(service.pid, async (half) => {
      const { body } = await begin(preview, `/?count=${largeBytes}`, { deadlineMs });
      let received = 0;
      for await (const piece of body as AsyncIterable<Buffer>) {
        crc = crc32(piece, crc);
        if (received < largeBytes / 2 && received + piece.length >= largeBytes / 2) await half();
        received += piece.length;
      }
    });
    expect(crc).toBe(expected);
    expectFlat('download', peaks, startedMs);
  });

  it('up, over HTTP/2', async () => {
    const startedMs = performance.now();
    const peaks = await peaksDuring(service.pid, async (half) => {
      const twoHalves = async function* () {
        yield* bytes(largeBytes / 2);
        await half();
        yield* bytes(largeBytes / 2);
      };
      const upload = { method: 'POST', body: Readable.from(twoHalves()), protocol: 'HTTP/2', deadlineMs } as const;
      expect(await visitJson(preview, '/', upload)).toEqual({ bytes: largeBytes, crc32: expected });
    });
    expectFlat('upload', peaks, startedMs);
  });
});

it.each(protocols)(
  'a visitor who leaves in the middle of a large answer over %s leaves nothing behind',
  async (protocol) => {
    const { body } = await begin(preview, `/?count=${largeBytes}`, { protocol, deadlineMs });
    for await (const _ of body) break;
    await expect.poll(openVisits).toBe(0);
    expect((await visit(preview, '/?count=5', { protocol })).status).toBe(200);
  },
);

it('what the service says of visits, however much it is to say, has no token in it', async () => {
  await expect(openSocket(preview)).rejects.toThrow();
  await visit(preview, `/?count=5&${preview.token}`, { headers: { referer: preview.url, origin: preview.url } });
  await visit({ ...preview, url: preview.url.replace(preview.token, 'abcdefghijklmnop') });
  expect(service.log).toContain('preview');
  expect(service.log).not.toContain(preview.token);
});
