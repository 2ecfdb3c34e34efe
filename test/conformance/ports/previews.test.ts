import { existsSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { expectStatus } from '../../support/conformance/api.ts';
import type { PortBody } from '../../support/conformance/bodies.ts';
import { isGiven } from '../../support/conformance/given.ts';
import { visit as visitBy } from '../../support/conformance/preview.ts';
import { useSubject } from '../../support/conformance/subject.ts';

const subject = useSubject({ sandbox: true });
/** Preview URLs lead somewhere once the gateway is there. */
const lead = isGiven || existsSync(new URL('../../../packages/server/src/gateway', import.meta.url));

const visit = (url: string) => visitBy(url, subject.previewCa);

const open = async (port: number, id = subject.sandbox.id): Promise<PortBody> =>
  expectStatus(await subject.api.post<PortBody>(`/sandboxes/${id}/ports`, { port }), 201);

/** Starts a server on localhost of the sandbox that answers with a word. */
const serve = async (id: string, port: number, word: string): Promise<void> => {
  const start = `cd www${port} && echo ${word} > index.html && (python3 -m http.server -b 127.0.0.1 ${port} >/dev/null 2>&1 &)`;
  const wait = `until curl -fs http://127.0.0.1:${port}/ >/dev/null; do sleep 0.2; done`;
  await subject.api.output(id, `mkdir -p www${port} && ${start}`);
  await subject.api.output(id, wait, { timeout_ms: 60_000 });
};

beforeEach((context) => {
  if (!lead) context.skip('needs the gateway');
});

describe('a preview URL', () => {
  it('reaches a server that listens on localhost only', async () => {
    await serve(subject.sandbox.id, 8001, 'through');
    const page = await visit((await open(8001)).url);
    expect([page.status, page.text.trim()]).toEqual([200, 'through']);
  });

  it('at whose port nothing listens answers with an error', async () => {
    expect((await visit((await open(8006)).url)).status).toBeGreaterThanOrEqual(400);
  });

  it('stops working immediately when it is closed; the server in the sandbox keeps running', async () => {
    const { api, sandbox } = subject;
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
    const { id } = await subject.api.create();
    await serve(id, 8020, 'soon gone');
    const { url } = await open(8020, id);
    expect((await visit(url)).status).toBe(200);
    await subject.api.delete(`/sandboxes/${id}`);
    expect((await visit(url)).status).toBeGreaterThanOrEqual(400);
  });
});
