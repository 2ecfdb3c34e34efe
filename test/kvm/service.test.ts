import { afterAll, beforeAll, expect, it } from 'vitest';
import { call, createSandbox, deleteSandbox, exec, output, type SandboxBody } from '../support/api-requests.ts';
import { leftovers } from '../support/chaos/held-resources.ts';
import { visitPreview } from '../support/conformance/http-client.ts';
import { machinePids } from '../support/machine-processes.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { freePort, newServiceData, type ServiceData, unlimitedRates } from '../support/service-settings.ts';
import { deleteSnapshot, rollBack, takeSnapshot } from '../support/snapshots.ts';

// One sandbox goes through everything, in order, because creating one takes longest in an emulated outer machine.
let data: ServiceData;
let settings: Readonly<Record<string, string>>;
let service: ServiceProcess;
let sandbox: SandboxBody;
/** Id and process of the sandbox's machine, which a rollback replaces. */
let machine: [string, number] | undefined;
beforeAll(async () => {
  data = await newServiceData();
  const port = String(await freePort());
  settings = {
    ...unlimitedRates,
    MAYFLY_POOL: 'small=1',
    MAYFLY_PREVIEW_PORT: port,
    MAYFLY_PREVIEW_PUBLIC_PORT: port,
  };
  service = await startServiceProcess(data, settings);
});
afterAll(async () => {
  await service?.destroy();
  await data?.remove();
});

async function expectFullPool(): Promise<void> {
  const ready = async () => /^mayfly_pool_machines_ready\{size="small"\} (\d+)$/m.exec(await metrics())?.[1];
  const metrics = async () => (await fetch(`${service.url}/metrics`)).text();
  await expect.poll(ready).toBe('1');
}

it('a create takes the machine that waits in the pool, which is replaced', async () => {
  await expectFullPool();
  [machine] = await machinePids(data.dataDir);
  sandbox = await createSandbox(service, { size: 'small' });
  await expectFullPool();
  const after = await machinePids(data.dataDir);
  expect(after.size).toBe(2);
  expect([...after]).toContainEqual(machine);
  expect(await output(service, sandbox.id, 'hostname')).toBe(sandbox.id.replaceAll('_', '-'));
});

it('commands run, with exit code and both streams', async () => {
  expect(await exec(service, sandbox.id, 'echo out; echo err >&2; exit 7')).toMatchObject({
    status: 'completed',
    exit_code: 7,
    stdout: 'out\n',
    stderr: 'err\n',
  });
  expect(await output(service, sandbox.id, 'python3 -c "print(sum(range(1000)))"; node -p 6*7')).toBe('499500\n42');
});

it('a file goes in and comes out unchanged', async () => {
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 7919) % 256));
  const body = { path: '/workspace/bytes', content: bytes.toString('base64'), encoding: 'base64' };
  expect((await call(service, 'PUT', `/sandboxes/${sandbox.id}/files`, body)).status).toBe(201);
  const read = await call(service, 'GET', `/sandboxes/${sandbox.id}/files?path=/workspace/bytes`);
  const { content, encoding } = (await read.json()) as { content: string; encoding: BufferEncoding };
  expect(Buffer.from(content, encoding).equals(bytes)).toBe(true);
});

it('a snapshot has the processes of the instant, in a copy with an identity of its own and the right clock, and after a rollback', async () => {
  await exec(service, sandbox.id, 'echo kept > mark; (sleep 86399 >/dev/null 2>&1 &)');
  const taken = await takeSnapshot(service, sandbox.id);
  const copy = await createSandbox(service, { snapshot_id: taken.id });
  expect(await output(service, copy.id, 'cat mark; pgrep -xc sleep; hostname')).toBe(
    `kept\n1\n${copy.id.replaceAll('_', '-')}`,
  );
  const guestMs = Number(await output(service, copy.id, 'date +%s%3N'));
  // An emulated outer machine answers within seconds.
  expect(Math.abs(guestMs - Date.now())).toBeLessThan(60_000);
  expect(await output(service, sandbox.id, 'pkill -xc sleep')).toBe('1');
  await deleteSandbox(service, copy.id);
  await exec(service, sandbox.id, 'rm mark');
  await rollBack(service, sandbox.id, taken.id);
  expect(await output(service, sandbox.id, 'cat mark; pkill -xc sleep')).toBe('kept\n1');
  const replaced = machine;
  machine = [...(await machinePids(data.dataDir))].find(([id]) => id.startsWith('roll_'));
  expect([machine, replaced]).not.toContain(undefined);
  await deleteSnapshot(service, taken.id);
});

it('a command is ended at its timeout', async () => {
  const result = await exec(service, sandbox.id, 'echo before; sleep 600', { timeout_ms: 3_000 });
  expect(result).toMatchObject({ status: 'timeout', exit_code: 124, stdout: 'before\n' });
});

it('after kill -9 of all processes the next ones adopt the machine, and its preview leads to the same server', async () => {
  await exec(
    service,
    sandbox.id,
    'echo served > index.html; (python3 -m http.server -b 127.0.0.1 8000 >/dev/null 2>&1 &)',
  );
  const opened = await call(service, 'POST', `/sandboxes/${sandbox.id}/ports`, { port: 8000 });
  const { url } = (await opened.json()) as { readonly url: string };
  const shown = async () => (await visitPreview(url)).text.trim();
  await expect.poll(shown).toBe('served');

  const before = await machinePids(data.dataDir);
  await service.kill();
  expect(await machinePids(data.dataDir)).toEqual(before);
  service = await startServiceProcess(data, settings);
  expect(await output(service, sandbox.id, 'cat index.html')).toBe('served');
  expect(await shown()).toBe('served');
  expect([...(await machinePids(data.dataDir))]).toContainEqual(machine);
});

// Late, because the bomb goes on in the background and takes all processes that the sandbox may have.
it('a sandbox still accepts commands after a fork bomb', async () => {
  const bomb = await exec(service, sandbox.id, 'bomb() { bomb | bomb & }; bomb; sleep 5', { timeout_ms: 10_000 });
  expect(['timeout', 'completed', 'failed']).toContain(bomb.status);
  expect(await output(service, sandbox.id, 'echo still here', 600_000)).toBe('still here');
});

it('a deleted sandbox and a stopped service leave nothing behind', async () => {
  await deleteSandbox(service, sandbox.id);
  await service.destroy();
  expect(await leftovers(data.dataDir)).toEqual([]);
});
