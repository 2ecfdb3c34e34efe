import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createSandbox, exec, type SandboxBody, type Target } from '../support/api-requests.ts';
import { auditLedger } from '../support/chaos/audit.ts';
import { readNumber, readSandboxes } from '../support/chaos/database.ts';
import { leftovers, unexpectedResources } from '../support/chaos/held-resources.ts';
import { Random } from '../support/chaos/random.ts';
import { type DatabaseName, databaseNames, restartableOn } from '../support/chaos/restartable-on.ts';
import { chaosSeed } from '../support/chaos/run-chaos.ts';
import { length } from '../support/length.ts';
import { machinePids, signalProcess } from '../support/machine-processes.ts';
import type { RestartableService } from '../support/restartable-service.ts';

async function createWithKey({ url, key }: Target, idempotencyKey: string) {
  const headers = { authorization: `Bearer ${key}`, 'idempotency-key': idempotencyKey };
  const response = await fetch(`${url}/v1/sandboxes`, { method: 'POST', headers });
  return { status: response.status, sandbox: (await response.json()) as SandboxBody };
}

/** Kills supervisor, host process, service and machines. */
async function cutPower(service: RestartableService): Promise<void> {
  await service.kill();
  for (const pid of (await machinePids(service.dataDir)).values()) signalProcess(pid, 'SIGKILL');
}

const comingBack = databaseNames.flatMap((kind) => (['host', 'service'] as const).map((side) => ({ kind, side })));

// In the short form each database once.
it.each(length<readonly DatabaseName[]>(databaseNames.slice(0, 1), databaseNames))(
  'after everything was killed at once, as in a power cut, the next start reconciles all records and accepts requests, with %s',
  async (kind) => {
    const { service, database } = await restartableOn(kind);
    const { sandbox: first } = await createWithKey(service, 'acknowledged');
    const others = await Promise.all([createSandbox(service), createSandbox(service)]);
    const pending = others.map(({ id }) => exec(service, id, 'sleep 60').catch(() => 'lost'));
    const runningCommands = () => readNumber(database, "select count(*) from executions where status = 'running'");
    await expect.poll(runningCommands).toBe(others.length);
    // Without its host process the service cannot complete the next create before the power is cut.
    service.pauseHostProcess();
    const creating = createWithKey(service, 'interrupted').catch(() => 'lost');
    const provisioning = () => readNumber(database, "select count(*) from sandboxes where status = 'provisioning'");
    await expect.poll(provisioning, { interval: 5 }).toBe(1);
    await cutPower(service);
    expect(await Promise.all([...pending, creating])).toEqual(['lost', 'lost', 'lost']);

    await service.start();
    const records = await readSandboxes(database);
    expect(records).toHaveLength(4);
    expect(records.map(({ status }) => status)).toEqual(records.map(() => 'failed'));
    const reasons = records.map(({ statusReason }) => String(statusReason).replace(/: .*/, '')).toSorted();
    expect(reasons).toEqual(['machine_died', 'machine_died', 'machine_died', 'provisioning_failed']);
    expect(await runningCommands()).toBe(0);
    expect(await unexpectedResources(service.dataDir, [], 1)).toEqual([]);
    expect(await auditLedger(database)).toEqual([]);

    // The key of the acknowledged create returns the same sandbox; the key of the interrupted one is free again.
    expect(await createWithKey(service, 'acknowledged')).toMatchObject({ status: 200, sandbox: { id: first.id } });
    const retried = await createWithKey(service, 'interrupted');
    expect([retried.status, retried.sandbox.status]).toEqual([201, 'running']);
    expect((await exec(service, retried.sandbox.id, 'echo works')).stdout).toBe('works\n');
    await service.destroy();
    expect(await leftovers(service.dataDir)).toEqual([]);
    expect(await auditLedger(database)).toEqual([]);
  },
);

it.each(length(comingBack.slice(2, 3), comingBack))(
  'a power cut while the $side process is coming back from a kill of its own loses no record either, with $kind',
  async ({ kind, side }) => {
    const random = new Random(chaosSeed());
    const { service, database } = await restartableOn(kind);
    const ids = (await Promise.all([createSandbox(service), createSandbox(service)])).map(({ id }) => id);
    const deleting = fetch(`${service.url}/v1/sandboxes/${ids[0]}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${service.key}` },
    }).catch(() => 'lost');
    await pause(random.between(0, 100));
    expect(service.killOne(side)).toBe(true);
    await pause(random.between(0, 1_500));
    await cutPower(service);
    await deleting;

    await service.start();
    const statuses = async () =>
      (await readSandboxes(database)).map(({ status }) => (status === 'failed' ? 'deleted' : status));
    await expect.poll(statuses, { timeout: 60_000 }).toEqual(['deleted', 'deleted']);
    expect((await exec(service, (await createSandbox(service)).id, 'echo works')).stdout).toBe('works\n');
    await service.destroy();
    expect(await leftovers(service.dataDir)).toEqual([]);
    expect(await auditLedger(database)).toEqual([]);
  },
);
