import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mayflyInProcess } from '#cli-test/mayfly.ts';
import { call, createSandbox, exec, type SandboxBody, type Target } from '../support/api-requests.ts';
import { machinePids, signalProcess } from '../support/machine-processes.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

interface AdminAnswer {
  readonly api_key: string;
  readonly data: readonly Record<string, string | null>[];
  readonly destroyed: readonly { readonly id: string; readonly status: string }[];
}

const suspended = 'mallory@example.com';
let service: TestService;
let owner: Target;
let innocentId: string;
beforeAll(async () => {
  service = await startTestService();
  const { api_key } = await admin('accounts', 'create', '--email', suspended, '--credit', '5');
  owner = { url: service.url, key: api_key };
  innocentId = (await createSandbox(service)).id;
});
afterAll(() => service?.stop());

async function admin(...args: string[]): Promise<AdminAnswer> {
  const { code, stdout, stderr } = await mayflyInProcess(['admin', ...args, '--json', '--data-dir', service.dataDir]);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as AdminAnswer;
}

/** Starts a visit of a preview, on a connection of its own, and waits for the head of the response. */
async function visit(url: string, path = '/'): Promise<IncomingMessage> {
  const { hostname: servername, port } = new URL(url);
  const headers = { host: `${servername}:${port}` };
  const ca = readFileSync(service.previewRootFile);
  const visited = request({ host: '127.0.0.1', port, path, servername, headers, ca, agent: false }).end();
  const [response] = (await once(visited, 'response')) as [IncomingMessage];
  return response.on('error', () => {}).resume();
}

/** Answers every request with a byte; the response to /endless never ends. */
const server = `import http.server, time
class Handler(http.server.BaseHTTPRequestHandler):
  def do_GET(self):
    self.send_response(200); self.end_headers(); self.wfile.write(b"x"); self.wfile.flush()
    if self.path == "/endless": time.sleep(3600)
http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Handler).serve_forever()`;

const machinesRunning = async () => (await machinePids(service.dataDir)).size;

describe('an operator', () => {
  it('suspends an account: its previews are cut at once, its sandboxes go with --destroy, and nobody else notices', async () => {
    const { id } = await createSandbox(owner);
    await exec(owner, id, `(python3 -c '${server}' >/dev/null 2>&1 &)`);
    const opened = await call(owner, 'POST', `/sandboxes/${id}/ports`, { port: 8000 });
    const { url } = (await opened.json()) as { readonly url: string };
    await expect.poll(async () => (await visit(url)).statusCode).toBe(200);
    // Nothing but the suspension ends it: the service has no time limit for a response that makes no progress.
    const endless = await visit(url, '/endless');
    const startedMs = Date.now();
    const cut = new Promise((resolve) => endless.once('close', resolve));
    await admin('accounts', 'suspend', '--email', suspended);
    await cut;
    console.log(`the visitor was cut ${Date.now() - startedMs} ms after the command started`);
    expect((await visit(url)).statusCode).toBe(404);
    expect((await call(owner, 'GET', '/sandboxes')).status).toBe(403);
    expect((await exec(service, innocentId, 'true')).exit_code).toBe(0);

    await admin('accounts', 'resume', '--email', suspended);
    expect((await visit(url)).statusCode).toBe(200);
    expect(await machinesRunning()).toBe(2);
    const { destroyed } = await admin('accounts', 'suspend', '--email', suspended, '--destroy');
    expect(destroyed).toMatchObject([{ id, status: 'deleted' }]);
    expect(await machinesRunning()).toBe(1);
    expect((await exec(service, innocentId, 'true')).exit_code).toBe(0);

    const trail = (await admin('audit', '--target', id)).data.map(({ action, status }) => `${action} ${status}`);
    expect(trail).toEqual(['sandboxes.destroy 200', 'exposePort 201', 'runCommand 200', 'createSandbox 201']);
  });

  it('keeps machines in a folder that other users cannot enter, and tells tenants nothing of the host', async () => {
    expect(statSync(service.dataDir).mode & 0o777).toBe(0o700);
    const { id } = await createSandbox(service);
    const listed = (await admin('sandboxes', 'list')).data.find((sandbox) => sandbox.id === id);
    const pid = (await machinePids(service.dataDir)).get(listed?.machine_id ?? '') ?? 0;
    const uid = Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
    expect(uid).toBeGreaterThan(0);
    // QEMU reports the signal in its log, and exits with a code.
    signalProcess(pid, 'SIGTERM');
    const read = async () => (await (await call(service, 'GET', `/sandboxes/${id}`)).json()) as SandboxBody;
    await expect.poll(async () => (await read()).status).toBe('failed');
    const { status_reason } = await read();
    console.log(`uid ${uid}, reason "${status_reason}"`);
    expect(status_reason).toMatch(/^machine_died: qemu (ended with code \d+|was killed by \w+)$/);
  });
});
