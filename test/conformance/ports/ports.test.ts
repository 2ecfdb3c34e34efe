import { describe, expect, it } from 'vitest';
import { type Answer, expectError, expectStatus } from '../../support/conformance/api.ts';
import type { PortBody } from '../../support/conformance/bodies.ts';
import { useSubject } from '../../support/conformance/subject.ts';

const subject = useSubject({ sandbox: true });

const expose = (port: unknown, id = subject.sandbox.id): Promise<Answer<PortBody>> =>
  subject.api.post<PortBody>(`/sandboxes/${id}/ports`, { port });
const open = async (port: number, id?: string): Promise<PortBody> => expectStatus(await expose(port, id), 201);
const close = (port: number | string): Promise<Answer<unknown>> =>
  subject.api.delete(`/sandboxes/${subject.sandbox.id}/ports/${port}`);
const list = async (id = subject.sandbox.id): Promise<readonly PortBody[]> =>
  expectStatus(await subject.api.get<{ data: PortBody[] }>(`/sandboxes/${id}/ports`), 200).data;

describe('POST /sandboxes/{id}/ports', () => {
  it('201: Port with an https URL', async () => {
    expect(await open(8001)).toMatchObject({ sandbox_id: subject.sandbox.id, port: 8001 });
  });

  it('a second request for the same port returns the same URL; other ports have others', async () => {
    const first = await open(8002);
    expect(await open(8002)).toEqual(first);
    const raced = await Promise.all(Array.from({ length: 5 }, () => open(8003)));
    expect(new Set(raced.map(({ url }) => url)).size).toBe(1);
    expect(raced[0]?.url).not.toBe(first.url);
  });

  it('the URL contains an unguessable token', async () => {
    const [one, two] = [await open(8004), await open(8005)];
    const longest = (url: string): string => (url.match(/[A-Za-z0-9]{20,}/g) ?? []).join();
    expect(longest(one.url).length).toBeGreaterThanOrEqual(20);
    expect(longest(one.url)).not.toBe(longest(two.url));
    expect(one.url).not.toContain(subject.sandbox.id);
  });

  it('1 and 65535 are ports; 400 for anything that is not a valid exposable port', async () => {
    for (const port of [1, 65_535]) expect((await open(port)).port).toBe(port);
    for (const port of [0, 65_536, -1, 80.5, '80', null, undefined, [80]]) {
      expect(expectError(await expose(port), 400, 'invalid_request')).toContain('port');
    }
  });

  it('404 for a sandbox that does not exist', async () => {
    expectError(await expose(80, 'sbx_unknown'), 404, 'not_found');
    expectError(await subject.api.get('/sandboxes/sbx_unknown/ports'), 404, 'not_found');
    expectError(await subject.api.delete('/sandboxes/sbx_unknown/ports/80'), 404, 'not_found');
  });
});

describe('GET and DELETE', () => {
  it('the list shows the open previews, oldest first, and no closed one', async () => {
    const { id } = await subject.api.create();
    expect(await list(id)).toEqual([]);
    const opened = [await open(9002, id), await open(9001, id), await open(9003, id)];
    expect(await list(id)).toEqual(opened);
    expectStatus(await subject.api.delete(`/sandboxes/${id}/ports/9001`), 200);
    expect(await list(id)).toEqual([opened[0], opened[2]]);
    await subject.api.delete(`/sandboxes/${id}`);
    expect(await list(id)).toEqual([]);
  });

  it('a port that was closed and is opened again has another URL', async () => {
    const { url } = await open(8010);
    const closed = { object: 'port', sandbox_id: subject.sandbox.id, port: 8010, deleted: true };
    expect(expectStatus(await close(8010), 200)).toEqual(closed);
    expect((await open(8010)).url).not.toBe(url);
  });

  it('404 when no preview is open for that port', async () => {
    expectError(await close(8011), 404, 'not_found');
    expectStatus(await expose(8011), 201);
    expectStatus(await close(8011), 200);
    expectError(await close(8011), 404, 'not_found');
  });

  it('a path that names no port is refused', async () => {
    for (const port of ['0', '65536', 'http', '80.5', '-1']) {
      expect([400, 404]).toContain((await close(port)).status);
    }
  });
});
