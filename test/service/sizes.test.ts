import { sizeNames, sizes } from '@mayfly/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSandbox, deleteSandbox, output, type SandboxBody } from '../support/api-requests.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(async () => {
  await service.stop();
});

const gib = 1024 ** 3;

describe.each(sizeNames)('a %s sandbox', (size) => {
  const { vcpu, memoryGb, diskGb } = sizes[size];
  let sandbox: SandboxBody;
  beforeAll(async () => {
    sandbox = await createSandbox(service, { size });
  });
  afterAll(async () => {
    await deleteSandbox(service, sandbox.id);
  });

  it('reports its resources', () => {
    expect(sandbox).toMatchObject({ size, resources: { vcpu, memory_gb: memoryGb, disk_gb: diskGb } });
  });

  it('has these CPUs, memory and disk inside', async () => {
    expect(await output(service, sandbox.id, 'nproc')).toBe(String(vcpu));
    const memory = Number(await output(service, sandbox.id, "awk '/MemTotal/ {print $2 * 1024}' /proc/meminfo"));
    expect(memory / gib).toBeGreaterThan(memoryGb * 0.95);
    expect(memory / gib).toBeLessThanOrEqual(memoryGb);
    const disk = Number(await output(service, sandbox.id, 'df -B1 --output=size / | tail -1'));
    expect(disk / gib).toBeGreaterThan(diskGb * 0.95);
    expect(disk / gib).toBeLessThanOrEqual(diskGb);
  });

  it('is restored from a template instead of booted', async () => {
    const uptimeMs = 1000 * Number((await output(service, sandbox.id, 'cat /proc/uptime')).split(' ')[0]);
    expect(uptimeMs).toBeGreaterThan(service.templates[size].manifest.savedAtUptimeMs);
    const [argv] = await service.machineProcesses();
    expect(argv).toContain('-incoming');
    expect(argv).not.toContain('-kernel');
  });
});
