import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { auditLedger } from '../support/chaos/audit-ledger.ts';
import { readNumber, readSandboxes, sqliteFile } from '../support/chaos/database.ts';
import { leftovers, strayHoldings } from '../support/chaos/leftovers.ts';
import { machinePids, signalProcess } from '../support/chaos/machine-pids.ts';
import { ServiceProcess } from '../support/chaos/service-process.ts';
import { createSandbox, exec, type SandboxBody, type Target } from '../support/http.ts';

const createWithKey = async ({ url, key }: Target, idempotencyKey: string) => {
  const headers = { authorization: `Bearer ${key}`, 'idempotency-key': idempotencyKey };
  const response = await fetch(`${url}/v1/sandboxes`, { method: 'POST', headers });
  return { status: response.status, sandbox: (await response.json()) as SandboxBody };
};

it('after everything was killed at once, as in a power cut, the next start settles all of it and serves on', async () => {
  const service = await ServiceProcess.create();
  onTestFinished(() => service.remove());
  const database = sqliteFile(join(service.dataDir, 'mayfly.db'));
  const { sandbox: first } = await createWithKey(service, 'answered');
  const others = await Promise.all([createSandbox(service), createSandbox(service)]);
  const hanging = others.map(({ id }) => exec(service, id, 'sleep 60').catch(() => 'lost'));
  const runningCommands = () => readNumber(database, "select count(*) from executions where status = 'running'");
  await expect.poll(runningCommands).toBe(others.length);
  const creating = createWithKey(service, 'unanswered').catch(() => 'lost');
  const provisioning = () => readNumber(database, "select count(*) from sandboxes where status = 'provisioning'");
  await expect.poll(provisioning, { interval: 5 }).toBe(1);
  await service.kill();
  for (const pid of (await machinePids(service.dataDir)).values()) signalProcess(pid, 'SIGKILL');
  expect(await Promise.all([...hanging, creating])).toEqual(['lost', 'lost', 'lost']);

  await service.start();
  const records = await readSandboxes(database);
  expect(records).toHaveLength(4);
  expect(records.map(({ status }) => status)).toEqual(records.map(() => 'failed'));
  const reasons = records.map(({ statusReason }) => String(statusReason).replace(/: .*/, '')).toSorted();
  expect(reasons).toEqual(['machine_died', 'machine_died', 'machine_died', 'provisioning_failed']);
  expect(await runningCommands()).toBe(0);
  expect(await strayHoldings(service.dataDir, [], 1)).toEqual([]);
  expect(await auditLedger(database)).toEqual([]);

  // What was answered stays the answer; what was not gave its key free.
  expect(await createWithKey(service, 'answered')).toMatchObject({ status: 200, sandbox: { id: first.id } });
  const again = await createWithKey(service, 'unanswered');
  expect([again.status, again.sandbox.status]).toEqual([201, 'running']);
  expect((await exec(service, again.sandbox.id, 'echo served')).stdout).toBe('served\n');
  await service.destroy();
  expect(await leftovers(service.dataDir)).toEqual([]);
  expect(await auditLedger(database)).toEqual([]);
}, 180_000);
