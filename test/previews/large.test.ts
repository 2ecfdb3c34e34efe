import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ServiceProcess } from '../support/chaos/service-process.ts';
import { createSandbox } from '../support/http.ts';
import { startBulkServer } from '../support/previews/guest-server.ts';
import { type OpenPreview, openPreview } from '../support/previews/open-preview.ts';
import { residentGrowthMib } from '../support/previews/resident.ts';
import { openSocket } from '../support/previews/socket.ts';
import { begin, protocols, visit, visitJson } from '../support/previews/visit.ts';

const port = 3000;
const largeBytes = 100 * 1000 ** 2;
/** Much less than what goes through; buffers and garbage of a process that works take their share. */
const flatMib = 48;
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

const block = Buffer.alloc(65_536, 'mayfly ');
/** So many bytes, made as they are taken. */
function* bytes(count: number): Generator<Buffer> {
  for (let left = count; left > 0; left -= block.length) yield left < block.length ? block.subarray(0, left) : block;
}
const sha256 = createHash('sha256');
for (const piece of bytes(largeBytes)) sha256.update(piece);
const expected = sha256.digest('hex');

const told = (what: string, growthMib: number, startedMs: number): void =>
  console.log(
    `${what} of 100 MB: ${Math.round(performance.now() - startedMs)} ms, ${Math.round(growthMib)} MiB more resident`,
  );

describe('100 MB go through the service without staying in it', () => {
  it('down, over HTTP/1.1', async () => {
    const hash = createHash('sha256');
    const startedMs = performance.now();
    const growthMib = await residentGrowthMib(service.pid, async () => {
      const { body } = await begin(preview, `/?count=${largeBytes}`, { deadlineMs });
      for await (const piece of body) hash.update(piece as Buffer);
    });
    told('download', growthMib, startedMs);
    expect(hash.digest('hex')).toBe(expected);
    expect(growthMib).toBeLessThan(flatMib);
  });

  it('up, over HTTP/2', async () => {
    const startedMs = performance.now();
    const growthMib = await residentGrowthMib(service.pid, async () => {
      const upload = {
        method: 'POST',
        body: Readable.from(bytes(largeBytes)),
        protocol: 'HTTP/2',
        deadlineMs,
      } as const;
      expect(await visitJson(preview, '/', upload)).toEqual({ bytes: largeBytes, sha256: expected });
    });
    told('upload', growthMib, startedMs);
    expect(growthMib).toBeLessThan(flatMib);
  });

  it.each(protocols)('nor do they stay when their visitor leaves in the middle, over %s', async (protocol) => {
    const growthMib = await residentGrowthMib(service.pid, async () => {
      const { body } = await begin(preview, `/?count=${largeBytes}`, { protocol, deadlineMs });
      for await (const _ of body) break;
      expect((await visit(preview, '/?count=5', { protocol })).status).toBe(200);
    });
    expect(growthMib).toBeLessThan(flatMib);
  });
});

it('what the service says of visits, however much it is to say, has no token in it', async () => {
  await expect(openSocket(preview)).rejects.toThrow();
  await visit(preview, `/?count=5&${preview.token}`, { headers: { referer: preview.url, origin: preview.url } });
  await visit({ ...preview, url: preview.url.replace(preview.token, 'abcdefghijklmnop') });
  expect(service.log).toContain('preview');
  expect(service.log).not.toContain(preview.token);
});
