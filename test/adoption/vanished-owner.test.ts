import { rename, rm } from 'node:fs/promises';
import { afterAll, expect, it } from 'vitest';
import { createSandbox, exec } from '../support/api-requests.ts';
import { hostState, leasedUids, leftSince } from '../support/host-state.ts';
import { killMachine, machinePids, machineProcesses } from '../support/machine-processes.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { newServiceData, type ServiceData } from '../support/service-settings.ts';

const allData: ServiceData[] = [];
const services: ServiceProcess[] = [];
afterAll(async () => {
  for (const service of services) await service.destroy();
  for (const data of allData) {
    if ((await machineProcesses(data.dataDir)).length > 0) await (await startServiceProcess(data)).destroy();
    await data.remove();
  }
});

async function start(data?: ServiceData): Promise<{ service: ServiceProcess; data: ServiceData }> {
  const used = data ?? (await newServiceData());
  if (!data) allData.push(used);
  const service = await startServiceProcess(used);
  services.push(service);
  return { service, data: used };
}

it('what the service of a deleted data folder left is removed by the next start of any service, and nothing of the others', async () => {
  const before = await hostState();
  const [gone, moved] = [await start(), await start()];
  const [dead] = await Promise.all([createSandbox(gone.service), createSandbox(gone.service)]);
  const kept = await createSandbox(moved.service);
  await exec(moved.service, kept.id, 'echo kept > /workspace/mark');
  await Promise.all([gone.service.kill(), moved.service.kill()]);
  await killMachine(gone.data.dataDir, dead.id);
  await rm(gone.data.dataDir, { recursive: true });
  const elsewhere = `${moved.data.dataDir}-moved`;
  await rename(moved.data.dataDir, elsewhere);
  expect([...(await machinePids(gone.data.dataDir)).keys()]).toHaveLength(1);
  expect(leasedUids(gone.data.dataDir).length).toBeGreaterThan(1);

  const { service } = await start();
  console.log(
    `after the start of another service: ${(await machineProcesses(gone.data.dataDir)).length} machines and ` +
      `${leasedUids(gone.data.dataDir).length} user ids of the deleted data folder, ` +
      `${(await machineProcesses(moved.data.dataDir)).length} machine of the moved one`,
  );
  expect(await machineProcesses(gone.data.dataDir)).toEqual([]);
  expect(leasedUids(gone.data.dataDir)).toEqual([]);
  const innocent = await createSandbox(service);
  expect((await exec(service, innocent.id, 'true')).exit_code).toBe(0);

  await rename(elsewhere, moved.data.dataDir);
  const { service: back } = await start(moved.data);
  expect((await exec(back, kept.id, 'cat /workspace/mark')).stdout).toBe('kept\n');
  await Promise.all([service.destroy(), back.destroy()]);
  expect(await leftSince(before)).toEqual([]);
});
