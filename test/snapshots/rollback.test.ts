import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, createSandbox, deleteSandbox, exec, output, type SandboxBody } from '../support/api-requests.ts';
import { visitPreview } from '../support/conformance/http-client.ts';
import { deleteSnapshot, rollBack, type SnapshotBody, takeSnapshot } from '../support/snapshots.ts';
import { startTestService, type TestService } from '../support/test-service.ts';
import { askWitness, startWitness, type WitnessState, witnessPort } from '../support/witness.ts';

let service: TestService;
let sandbox: SandboxBody;
let snapshot: SnapshotBody;
let before: WitnessState;
/** What a visitor of the preview sees now. */
let shown: () => Promise<string>;

beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.stop());

it('a sandbox is saved with its work, a server and a preview of it', async () => {
  sandbox = await createSandbox(service, { timeout_minutes: 120 });
  const work = 'mkdir -p work && seq 1000 > work/numbers && git init -q --template= work';
  await output(service, sandbox.id, `${work} && echo before > index.html`);
  before = await startWitness(service, sandbox.id);
  const opened = await call(service, 'POST', `/sandboxes/${sandbox.id}/ports`, { port: witnessPort });
  const { url } = (await opened.json()) as { readonly url: string };
  shown = async () => (await visitPreview(url)).text.trim();
  await expect.poll(shown).toBe('before');
  snapshot = await takeSnapshot(service, sandbox.id);
  expect(snapshot.sandbox_id).toBe(sandbox.id);
});

/** Fails unless everything is as it was at the snapshot, and the clock is right. */
async function expectStateOfSnapshot(): Promise<void> {
  const look = 'tail -n 1 work/numbers && git -C work status --short && date +%s%3N';
  const askedAtMs = Date.now();
  const seen = (await output(service, sandbox.id, look)).split('\n');
  const guestMs = Number(seen.pop());
  expect(guestMs).toBeGreaterThan(askedAtMs - 10_000);
  expect(guestMs).toBeLessThan(Date.now() + 10_000);
  expect(seen).toEqual(['1000', '?? numbers']);
  expect(await askWitness(service, sandbox.id, 'state')).toMatchObject({
    pid: before.pid,
    ballast_intact: true,
    nameless: before.nameless,
  });
  expect(await shown()).toBe('before');
}

/** The machines that were replaced are destroyed in the background. */
async function machinesLeft(): Promise<number> {
  const count = async () => (await service.machineProcesses()).length;
  await expect.poll(count).toBe(1);
  return await count();
}

async function rollBackTwice(breakIt: () => Promise<unknown>): Promise<void> {
  for (let time = 1; time <= 2; time += 1) {
    await breakIt();
    const startedAt = performance.now();
    const rolledBack = await rollBack(service, sandbox.id, snapshot.id);
    console.log(`rolled back in ${Math.round(performance.now() - startedAt)} ms`);
    expect(rolledBack).toMatchObject({
      id: sandbox.id,
      status: 'running',
      expires_at: sandbox.expires_at,
      ready_at: sandbox.ready_at,
    });
    await expectStateOfSnapshot();
  }
}

describe('a rollback brings the state of the snapshot back, twice in a row', () => {
  it('after the work folder was removed', async () => {
    await rollBackTwice(async () => {
      const left = await output(service, sandbox.id, 'rm -rf /workspace/* /workspace/.[a-z]*; ls -A /workspace');
      expect(left).toBe('');
    });
    expect(await machinesLeft()).toBe(1);
  });

  it('when a fork bomb keeps the guest busy', async () => {
    await rollBackTwice(async () => {
      const bomb = call(service, 'POST', `/sandboxes/${sandbox.id}/exec`, {
        command: 'bomb() { bomb | bomb & }; bomb; sleep 600',
        timeout_ms: 600_000,
      });
      void bomb.catch(() => {});
      // Until the bomb has a large part of the 512 processes that a user may have, or has so many that no other can be started. Kernel threads
      // count too, and are far fewer.
      const busy = "until IFS=' /' read -r _ _ _ _ processes _ < /proc/loadavg && [ $processes -gt 300 ]; do :; done";
      const looked = await exec(service, sandbox.id, busy, { timeout_ms: 300_000 }).catch(() => undefined);
      expect(looked?.status).not.toBe('timeout');
    });
    expect(await machinesLeft()).toBe(1);
  });

  it('when the disk of the guest is full', async () => {
    await rollBackTwice(async () => {
      // fallocate reserves the space without writing it, so the disk of the host does not fill up. The largest file of a user has 4 GiB.
      const fill = 'n=0; while fallocate -l 4G filler$n 2>/dev/null; do n=$((n+1)); done';
      const full = await exec(service, sandbox.id, `${fill}; head -c 50000000 /dev/zero > more`, {
        timeout_ms: 300_000,
      });
      expect(full.stderr).toContain('No space left');
    });
    expect(await machinesLeft()).toBe(1);
  });
});

it('commands in flight end as failed, with the reason', async () => {
  const running = call(service, 'POST', `/sandboxes/${sandbox.id}/exec`, {
    command: 'touch started; sleep 600',
    timeout_ms: 600_000,
  });
  await output(service, sandbox.id, 'until [ -e started ]; do sleep 0.2; done');
  const executions = async () => {
    const list = await call(service, 'GET', `/sandboxes/${sandbox.id}/executions`);
    return ((await list.json()) as { readonly data: readonly { readonly id: string; readonly status: string }[] }).data;
  };
  const inFlight = (await executions()).find(({ status }) => status === 'running');
  expect(inFlight).toBeDefined();
  await rollBack(service, sandbox.id, snapshot.id);
  const answer = await running;
  expect(answer.status).toBe(502);
  expect(JSON.stringify(await answer.json())).toContain(`rolled back to ${snapshot.id}`);
  const ended = (await executions()).find(({ id }) => id === inFlight?.id);
  expect(ended?.status).toBe('failed');
});

it('a copy can go back to a snapshot of the sandbox that it was made from, and a stranger cannot', async () => {
  const copy = await createSandbox(service, { snapshot_id: snapshot.id });
  await output(service, copy.id, 'rm -rf work');
  await rollBack(service, copy.id, snapshot.id);
  expect(await output(service, copy.id, 'tail -n 1 work/numbers')).toBe('1000');
  const stranger = await createSandbox(service);
  const refused = await call(service, 'POST', `/sandboxes/${stranger.id}/rollback`, { snapshot_id: snapshot.id });
  expect(refused.status).toBe(400);
  await Promise.all([copy, stranger].map(({ id }) => deleteSandbox(service, id)));
  await deleteSnapshot(service, snapshot.id);
});
