import { fixedLimits } from '@mayfly/contract';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { storeSnapshot } from '../../../test/app/stored-snapshot.ts';
import { stubService } from '../../../test/app/stub-service.ts';
import { addAccount, type StubService, signedIn, type TestBrowser } from '../../../test/http/browser.ts';

let service: StubService;
let url: string;
let browser: TestBrowser;
beforeEach(async () => {
  service = await stubService();
  url = await service.app.listen({ port: 0, host: '127.0.0.1' });
  browser = await signedIn(service);
});
afterEach(async () => {
  service.core.streams.cutAll();
  service.app.server.closeAllConnections();
  await service[Symbol.asyncDispose]();
});

/** Follows the changes as a page does. `seen` are the events so far, `status ended_at` for a sandbox. */
async function follow(of: TestBrowser) {
  const response = await fetch(`${url}/app/api/changes`, { headers: { cookie: of.cookie ?? '' } });
  if (response.body === null || response.status !== 200) throw new Error(`answered ${response.status}`);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  // The first line says that the stream is open.
  let text = (await reader.read()).value ?? '';
  void (async () => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value;
  })().catch(() => {});
  return {
    seen: () =>
      [...text.matchAll(/event: (\w+)\ndata: (.*)\n\n/g)].map(([, event, data = '']) => {
        const { id, status } = JSON.parse(data) as { readonly id?: string; readonly status?: string };
        return [event, id, status].filter(Boolean).join(' ');
      }),
    cancel: () => reader.cancel(),
  };
}

test('a page is told how its sandboxes begin, change and end, and of nothing of other accounts', async () => {
  const other = await signedIn(service, await addAccount(service, 'b'));
  const [mine, theirs] = [await follow(browser), await follow(other)];
  const { id } = (await browser.post('/sandboxes', { name: 'a' })).body as unknown as { id: string };
  await expect.poll(mine.seen).toEqual([`sandbox ${id} provisioning`, `sandbox ${id} running`]);
  await browser.post(`/sandboxes/${id}/extend`, { minutes: 5 });
  await browser.delete(`/sandboxes/${id}`);
  await expect.poll(mine.seen).toContain(`sandbox ${id} deleted`);
  const { id: another } = (await other.post('/sandboxes')).body as unknown as { id: string };
  await expect.poll(theirs.seen).toEqual([`sandbox ${another} provisioning`, `sandbox ${another} running`]);
  expect(mine.seen().filter((event) => event.includes(another))).toEqual([]);
});

test('a page is told that snapshots changed, also those that a program with a key deletes', async () => {
  const { id } = (await browser.post('/sandboxes')).body as unknown as { id: string };
  const snapshot = await storeSnapshot(service, id);
  const { seen } = await follow(browser);
  expect((await service.call('DELETE', `/v1/snapshots/${snapshot}`)).status).toBe(200);
  await expect.poll(seen).toEqual(['snapshots']);
});

test('a page that has gone costs nothing, and one more than allowed is refused', async () => {
  const open = await Promise.all(Array.from({ length: fixedLimits.streamsPerSandbox }, () => follow(browser)));
  expect(service.core.changes.readers).toBe(fixedLimits.streamsPerSandbox);
  await expect(follow(browser)).rejects.toThrow('answered 429');
  for (const { cancel } of open) await cancel();
  await expect.poll(() => service.core.changes.readers).toBe(0);
  await (await follow(browser)).cancel();
});
