import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createGuestConnector } from '#server/guest/connector.ts';
import { buildTemplate } from '#server/machines/qemu/template/build.ts';
import { openTemplate } from '#server/machines/qemu/template/template.ts';
import { warmUpWith } from '#setup/templates/warm-up.ts';
import { preparedHost } from '../support/prepared-host.ts';
import { createTestDriver } from '../support/test-driver.ts';

const dayMs = 24 * 60 * 60_000;
const attachMs = 60_000;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-old-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

it('the clock of a machine is correct although its template was saved with a clock five days behind', async () => {
  const { engine, templates, artifacts } = preparedHost();
  const fiveDaysAgo = createGuestConnector({ now: () => Date.now() - 5 * dayMs });
  const { kernelPath, kernelVersion, initrdPath, diskPaths } = artifacts;
  const recipe = { engine, size: 'small', kernelPath, kernelVersion, initrdPath, basePath: diskPaths.small } as const;
  await buildTemplate(
    {
      ...recipe,
      warmUp: async (openChannel) => {
        const times = await warmUpWith(fiveDaysAgo)(openChannel);
        const openAgentChannel = () => openChannel(AbortSignal.timeout(attachMs));
        const agent = await fiveDaysAgo.attach({ id: 'old', openAgentChannel }, attachMs);
        await agent.setClock();
        agent.close();
        return times;
      },
    },
    folder,
  );
  const oldTemplate = await openTemplate(folder);
  const host = await createTestDriver({ templates: { ...templates, small: oldTemplate } });
  const machine = await host.driver.launch({ id: 'old', size: 'small' });
  try {
    const agent = await createGuestConnector().attach(machine, attachMs);
    const date = async (id: string): Promise<number> => {
      const request = { command: 'date +%s%3N', cwd: '/', env: {}, timeoutMs: 30_000, captureBytes: 100 };
      return Number((await agent.execute({ id, ...request })).stdout.toString());
    };
    const behindMs = Date.now() - (await date('exec_before'));
    expect(behindMs).toBeGreaterThan(4.9 * dayMs);
    await agent.setIdentity({ hostname: 'now', machineId: '0123456789abcdef0123456789abcdef', expiresAtMs: 0 });
    const before = Date.now();
    const guest = await date('exec_after');
    const after = Date.now();
    console.log(
      `restored ${(behindMs / dayMs).toFixed(2)} days behind; then within [${guest - after}, ${guest - before}] ms of the host`,
    );
    expect(guest).toBeGreaterThan(before - 500);
    expect(guest).toBeLessThan(after + 500);
  } finally {
    await machine.destroy();
    await host.remove();
  }
});
