import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { call, createSandbox, exec, type Target } from '../support/api-requests.ts';
import { auditLedger } from '../support/chaos/audit.ts';
import { type AuditedDatabase, readNumber, readSandboxes } from '../support/chaos/database.ts';
import { leftovers, unexpectedResources } from '../support/chaos/held-resources.ts';
import { Random } from '../support/chaos/random.ts';
import { type DatabaseName, databaseNames, restartableOn } from '../support/chaos/restartable-on.ts';
import { chaosSeed } from '../support/chaos/run-chaos.ts';
import { hostState, leftSince } from '../support/host-state.ts';
import { length } from '../support/length.ts';
import { machinePids } from '../support/machine-processes.ts';
import { servePage } from '../support/previews/served-page.ts';
import { freePort } from '../support/service-settings.ts';

/** Each side and both are killed once. */
const rounds = 3;
const settleMs = 120_000;
const unfinished = `select (select count(*) from sandboxes where status in ('provisioning', 'deleting'))
  + (select count(*) from executions where status = 'running')`;

/** A request to a service that may be killed at any moment: its status, or that the connection was lost. */
async function attempt(target: Target, method: string, path: string, body?: unknown): Promise<string> {
  const answered = call(target, method, path, body).then(({ status }) => status);
  return `${method} ${await answered.catch(() => 'lost')}`;
}

async function healthOf({ url }: Target): Promise<number> {
  return (await fetch(`${url}/healthz`).catch(() => ({ status: 0 }))).status;
}

/** The machines of the sandboxes that run, once nothing is in progress. */
async function runningMachines(service: Target, database: AuditedDatabase): Promise<string[]> {
  const state = async () => [await healthOf(service), await readNumber(database, unfinished)];
  await expect.poll(state, { timeout: settleMs }).toEqual([200, 0]);
  const running = (await readSandboxes(database)).filter(({ status }) => status === 'running');
  return running.map(({ machineId }) => String(machineId));
}

it.each(length<readonly DatabaseName[]>(['SQLite'], databaseNames))(
  'kills of either process at random moments of creates, deletes and commands lose no sandbox and leave nothing, with %s',
  async (kind) => {
    const before = await hostState();
    const seed = chaosSeed();
    const random = new Random(seed);
    const { service, database } = await restartableOn(kind, { MAYFLY_POOL: 'none' });
    const kept = await Promise.all([createSandbox(service), createSandbox(service)]);
    await Promise.all(kept.map(({ id }) => exec(service, id, `echo ${id} > mark`)));
    const answers: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const { id } = await createSandbox(service);
      const work = [
        attempt(service, 'POST', '/sandboxes'),
        attempt(service, 'POST', '/sandboxes'),
        attempt(service, 'DELETE', `/sandboxes/${id}`),
        attempt(service, 'POST', `/sandboxes/${kept[0]?.id}/exec`, { command: 'sleep 1' }),
      ];
      await pause(random.between(0, 900));
      const side = (['host', 'service', 'both'] as const)[round % 3] ?? 'both';
      if (side === 'both') await service.kill();
      else expect(service.killOne(side)).toBe(true);
      answers.push(`${side} killed: ${(await Promise.all(work)).join(', ')}`);
      if (side === 'both') await service.start();

      const machines = await runningMachines(service, database);
      expect(await unexpectedResources(service.dataDir, machines, 0)).toEqual([]);
      const marks = await Promise.all(kept.map((sandbox) => exec(service, sandbox.id, 'cat mark')));
      expect(marks.map(({ stdout }) => stdout.trim())).toEqual(kept.map((sandbox) => sandbox.id));
    }
    console.log(`${kind}, seed ${seed}\n${answers.join('\n')}`);
    await service.destroy();
    expect(await leftovers(service.dataDir)).toEqual([]);
    expect(await auditLedger(database)).toEqual([]);
    expect(await leftSince(before)).toEqual([]);
  },
);

it('without a host process commands and previews go on and creates answer 503; without a service machines and host process go on', async () => {
  const port = String(await freePort());
  const settings = { MAYFLY_POOL: 'none', MAYFLY_PREVIEW_PORT: port, MAYFLY_PREVIEW_PUBLIC_PORT: port };
  const { service } = await restartableOn('SQLite', settings);
  const { id } = await createSandbox(service);
  const { shown } = await servePage(service, id, 'still here');
  const machine = await machinePids(service.dataDir);
  const { host } = service.processes;

  // A supervisor that is stopped starts nothing again, so the states in between last.
  const resume = service.pauseSupervisor();
  expect(service.killOne('host')).toBe(true);
  await expect.poll(() => healthOf(service)).toBe(503);
  expect((await exec(service, id, 'echo goes on')).stdout).toBe('goes on\n');
  expect(await shown()).toBe('still here');
  const refused = await call(service, 'POST', '/sandboxes');
  const { error } = (await refused.json()) as { readonly error: { readonly type: string } };
  expect([refused.status, error.type]).toEqual([503, 'capacity_unavailable']);
  resume();
  await expect.poll(() => healthOf(service), { timeout: settleMs }).toBe(200);
  await createSandbox(service);
  expect((await machinePids(service.dataDir)).get(id)).toBe(machine.get(id));
  const restarted = service.processes.host;
  expect(restarted).not.toBe(host);

  const command = 'touch started; until [ -e go ]; do sleep 0.2; done; echo done > finished';
  const running = exec(service, id, command, { timeout_ms: 600_000 }).catch(() => 'lost');
  await expect.poll(() => exec(service, id, 'ls started').then(({ exit_code }) => exit_code)).toBe(0);
  const resumeAgain = service.pauseSupervisor();
  expect(service.killOne('service')).toBe(true);
  expect(await running).toBe('lost');
  // The port stays open: nobody else gets it, and a request waits for the next service.
  const { hostname, port: apiPort } = new URL(service.url);
  const taken = once(createServer().listen(Number(apiPort), hostname), 'listening');
  await expect(taken).rejects.toMatchObject({ code: 'EADDRINUSE' });
  const waiting = healthOf(service);
  expect(service.processes.host).toBe(restarted);
  resumeAgain();
  expect([200, 503]).toContain(await waiting);
  await expect.poll(() => healthOf(service), { timeout: settleMs }).toBe(200);
  expect(service.processes.host).toBe(restarted);
  await exec(service, id, 'touch go');
  await expect.poll(() => exec(service, id, 'cat finished').then(({ stdout }) => stdout)).toBe('done\n');
  expect(await shown()).toBe('still here');
  expect((await machinePids(service.dataDir)).get(id)).toBe(machine.get(id));
});
