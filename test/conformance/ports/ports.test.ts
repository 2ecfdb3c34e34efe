import type { Port } from '@mayfly/contract';
import { describe, expect, it } from 'vitest';
import { type ApiResponse, expectError, expectStatus } from '../../support/conformance/api.ts';
import { useTarget } from '../../support/conformance/target.ts';

const target = useTarget({ sandbox: true });

function expose(port: unknown, id = target.sandbox.id): Promise<ApiResponse<Port>> {
  return target.api.post<Port>(`/sandboxes/${id}/ports`, { port });
}

async function open(port: number, id?: string): Promise<Port> {
  return expectStatus(await expose(port, id), 201);
}

function close(port: number | string): Promise<ApiResponse<unknown>> {
  return target.api.delete(`/sandboxes/${target.sandbox.id}/ports/${port}`);
}

async function list(id = target.sandbox.id): Promise<readonly Port[]> {
  return expectStatus(await target.api.get<{ data: Port[] }>(`/sandboxes/${id}/ports`), 200).data;
}

describe('POST /sandboxes/{id}/ports', () => {
  it('201: Port with an https URL', async () => {
    expect(await open(8001)).toMatchObject({ sandbox_id: target.sandbox.id, port: 8001 });
  });

  it('a second request for the same port returns the same URL; other ports have different URLs', async () => {
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
    expect(one.url).not.toContain(target.sandbox.id);
  });

  it('accepts 1 and 65535; 400 for anything that is not a valid exposable port', async () => {
    for (const port of [1, 65_535]) expect((await open(port)).port).toBe(port);
    for (const port of [0, 65_536, -1, 80.5, '80', null, undefined, [80]]) {
      expect(expectError(await expose(port), 400, 'invalid_request')).toContain('port');
    }
  });

  it('404 for a sandbox that does not exist', async () => {
    expectError(await expose(80, 'sbx_unknown'), 404, 'not_found');
    expectError(await target.api.get('/sandboxes/sbx_unknown/ports'), 404, 'not_found');
    expectError(await target.api.delete('/sandboxes/sbx_unknown/ports/80'), 404, 'not_found');
  });
});

describe('GET and DELETE /sandboxes/{id}/ports', () => {
  it('the list shows the open previews, oldest first, and no closed ones', async () => {
    const { id } = await target.api.create();
    expect(await list(id)).toEqual([]);
    const opened = [await open(9002, id), await open(9001, id), await open(9003, id)];
    expect(await list(id)).toEqual(opened);
    expectStatus(await target.api.delete(`/sandboxes/${id}/ports/9001`), 200);
    expect(await list(id)).toEqual([opened[0], opened[2]]);
    await target.api.delete(`/sandboxes/${id}`);
    expectError(await target.api.get(`/sandboxes/${id}/ports`), 404, 'not_found');
  });

  it('a port that is closed and opened again has a new URL', async () => {
    const { url } = await open(8010);
    const closed = { object: 'port', sandbox_id: target.sandbox.id, port: 8010, deleted: true };
    expect(expectStatus(await close(8010), 200)).toEqual(closed);
    expect((await open(8010)).url).not.toBe(url);
  });

  it('404 when no preview is open for that port', async () => {
    expectError(await close(8011), 404, 'not_found');
    expectStatus(await expose(8011), 201);
    expectStatus(await close(8011), 200);
    expectError(await close(8011), 404, 'not_found');
  });

  it('a path without a valid port: 400 or 404', async () => {
    for (const port of ['0', '65536', 'http', '80.5', '-1']) {
      expect([400, 404]).toContain((await close(port)).status);
    }
  });
});
