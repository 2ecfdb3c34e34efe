import type { Port } from '@mayfly/contract';
import { describe, expect, it } from 'vitest';
import { expectStatus } from '../../support/conformance/api.ts';
import { type HttpResponse, visitPreview } from '../../support/conformance/http-client.ts';
import { useTarget } from '../../support/conformance/target.ts';

const target = useTarget({ sandbox: true });

function visit(url: string): Promise<HttpResponse> {
  return visitPreview(url, target.previewCa);
}

async function open(port: number, id = target.sandbox.id): Promise<Port> {
  return expectStatus(await target.api.post<Port>(`/sandboxes/${id}/ports`, { port }), 201);
}

/** Starts a server on localhost in the sandbox that serves one word. */
async function serve(id: string, port: number, word: string): Promise<void> {
  const start = `cd www${port} && echo ${word} > index.html && (python3 -m http.server -b 127.0.0.1 ${port} >/dev/null 2>&1 &)`;
  const wait = `until curl -fs http://127.0.0.1:${port}/ >/dev/null; do sleep 0.2; done`;
  await target.api.output(id, `mkdir -p www${port} && ${start}`);
  await target.api.output(id, wait, { timeout_ms: 600_000 });
}

describe('a preview URL', () => {
  it('reaches a server that listens on localhost only', async () => {
    await serve(target.sandbox.id, 8001, 'through');
    const page = await visit((await open(8001)).url);
    expect([page.status, page.text.trim()]).toEqual([200, 'through']);
  });

  it('answers with an error if nothing listens on the port', async () => {
    expect((await visit((await open(8006)).url)).status).toBeGreaterThanOrEqual(400);
  });

  it('stops working immediately when it is closed; the server in the sandbox keeps running', async () => {
    const { api, sandbox } = target;
    await serve(sandbox.id, 8010, 'running');
    const { url } = await open(8010);
    expect((await visit(url)).status).toBe(200);
    expectStatus(await api.delete(`/sandboxes/${sandbox.id}/ports/8010`), 200);
    expect((await visit(url)).status).toBeGreaterThanOrEqual(400);
    expect(await api.output(sandbox.id, 'curl -fs http://127.0.0.1:8010/')).toBe('running');
    expect((await visit((await open(8010)).url)).text.trim()).toBe('running');
    expect((await visit(url)).status).toBeGreaterThanOrEqual(400);
  });

  it('stops working when the sandbox stops', async () => {
    const { id } = await target.api.create();
    await serve(id, 8020, 'soon gone');
    const { url } = await open(8020, id);
    expect((await visit(url)).status).toBe(200);
    await target.api.delete(`/sandboxes/${id}`);
    expect((await visit(url)).status).toBeGreaterThanOrEqual(400);
  });
});
