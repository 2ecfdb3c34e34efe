import { expect, test } from 'vitest';
import { advance } from '../../../src/core/lifecycle/advance.ts';
import type { LifecycleEvent } from '../../../src/core/lifecycle/decide.ts';
import { noMetrics } from '../../../src/core/ports/metrics.ts';
import { PreviewTraffic } from '../../../src/core/previews/preview-traffic.ts';
import { account, insert, insertRunning, type OpenedStore } from '../fixtures.ts';

const nowMs = 2e12 + 1;
const ends: readonly LifecycleEvent[] = [
  { kind: 'delete_requested' },
  { kind: 'expiry_passed' },
  { kind: 'machine_died', reason: 'killed' },
  { kind: 'service_stopping' },
  { kind: 'service_restarted', lastAliveMs: 2e12 },
];

export function describeAdvances(opened: OpenedStore): void {
  const previewTraffic = new PreviewTraffic();
  let charged = 0;
  const metrics = {
    ...noMetrics,
    charged: (microUsd: number) => {
      charged += microUsd;
    },
  };
  const clock = { nowMs: () => nowMs };
  const core = () => ({
    store: opened(),
    clock,
    limits: { maxTimeoutMinutes: 1440 } as never,
    metrics,
    previewTraffic,
  });

  test('of two concurrent ends of a run one wins, the other sees its result, and the run is charged once', async () => {
    const pairs = ends.flatMap((one) => ends.map((other) => [one, other] as const));
    let spent = 0;
    charged = 0;
    for (const [index, pair] of pairs.entries()) {
      const running = await insertRunning(opened(), `sbx_${index}`);
      const outcomes = await Promise.all(pair.map((event) => advance(core(), running, event)));
      expect(outcomes.filter(({ changed, before }) => changed && before === 'running')).toHaveLength(1);
      const { spentMicroUsd } = await opened().ledger.summary(account.id, 0);
      expect(spentMicroUsd).toBeGreaterThan(spent);
      const cost = Math.round(((2e12 - (running.readyAtMs ?? 0)) * running.priceMicroUsdPerHour) / 3_600_000);
      expect(spentMicroUsd).toBe(spent + cost);
      spent = spentMicroUsd;
      expect(charged).toBe(spent);
    }
  });

  test('a delete that races with the machine becoming ready always ends the sandbox', async () => {
    for (let index = 0; index < 10; index++) {
      const provisioning = await insert(opened(), `sbx_${index}`);
      const [ready, deleted] = await Promise.all([
        advance(core(), provisioning, { kind: 'machine_ready', machineId: 'm' }),
        advance(core(), provisioning, { kind: 'delete_requested' }),
      ]);
      expect(deleted.changed).toBe(true);
      expect((await opened().sandboxes.read(`sbx_${index}`))?.status).toBe('deleting');
      expect(ready.changed).toBe(deleted.before === 'running');
    }
  });

  test('a delete that races with an extension always ends the sandbox', async () => {
    const running = await insertRunning(opened(), 'sbx_a');
    const extend = { kind: 'extend_requested', additionalMinutes: 5, maxTimeoutMinutes: 1440 } as const;
    await Promise.all([extend, { kind: 'delete_requested' } as const].map((event) => advance(core(), running, event)));
    expect((await opened().sandboxes.read('sbx_a'))?.status).toBe('deleting');
  });
}
