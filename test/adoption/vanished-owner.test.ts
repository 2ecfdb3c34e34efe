import { rename, rm } from 'node:fs/promises';
import { expect, it, onTestFinished } from 'vitest';
import { createSandbox, exec } from '../support/api-requests.ts';
import { hostState, leasedUids, leftSince } from '../support/host-state.ts';
import { killMachine, machinePids, machineProcesses } from '../support/machine-processes.ts';
import { type ServiceProcess, useServiceProcesses } from '../support/service-process.ts';
import type { ServiceData } from '../support/service-settings.ts';

const processes = useServiceProcesses();

async function start(): Promise<{ service: ServiceProcess; data: ServiceData }> {
  const data = await processes.newData();
  return { service: await processes.start(data), data };
}

it('what the host process of a deleted data folder left is removed by the next start of any host process, and nothing of the others', async () => {
  const before = await hostState();
  const [gone, moved] = [await start(), await start()];
  const [dead] = await Promise.all([createSandbox(gone.service), createSandbox(gone.service)]);
  const kept = await createSandbox(moved.service);
  await exec(moved.service, kept.id, 'echo kept > /workspace/mark');
  await Promise.all([gone.service.kill(), moved.service.kill()]);
  await killMachine(gone.data.dataDir, dead.id);
  await expect.poll(async () => [...(await machinePids(gone.data.dataDir)).keys()]).toHaveLength(1);
  await rm(gone.data.dataDir, { recursive: true });
  const elsewhere = `${moved.data.dataDir}-moved`;
  await rename(moved.data.dataDir, elsewhere);
  // If a check fails before it is moved back below.
  onTestFinished(() => rename(elsewhere, moved.data.dataDir).catch(() => {}));
  expect(leasedUids(gone.data.dataDir).length).toBeGreaterThan(1);

  const { service } = await start();
  console.log(
    `after the start of another host process: ${(await machineProcesses(gone.data.dataDir)).length} machines and ` +
      `${leasedUids(gone.data.dataDir).length} user ids of the deleted data folder, ` +
      `${(await machineProcesses(moved.data.dataDir)).length} machine of the moved one`,
  );
  expect(await machineProcesses(gone.data.dataDir)).toEqual([]);
  expect(leasedUids(gone.data.dataDir)).toEqual([]);
  const innocent = await createSandbox(service);
  expect((await exec(service, innocent.id, 'true')).exit_code).toBe(0);

  await rename(elsewhere, moved.data.dataDir);
  const back = await processes.start(moved.data);
  expect((await exec(back, kept.id, 'cat /workspace/mark')).stdout).toBe('kept\n');
  await Promise.all([service.destroy(), back.destroy()]);
  expect(await leftSince(before)).toEqual([]);
});
