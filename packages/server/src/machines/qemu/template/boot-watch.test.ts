import { spawn } from 'node:child_process';
import { expect, it } from 'vitest';
import { BootStalled, cpuDemandMs, maxBootAttempts, retryStalledBoot, StallDetector } from './boot-watch.ts';

/** The second at which a boot with this CPU demand per second counts as stalled; undefined if not within ten minutes. */
function stalledAfterSeconds(demandMsAt: (second: number) => number, console = ''): number | undefined {
  const detector = new StallDetector();
  let demandMs = 0;
  for (let second = 0; second <= 600; second += 1) {
    demandMs += demandMsAt(second);
    if (detector.isStalled(second * 1000, demandMs, console)) return second;
  }
  return undefined;
}

it('never takes a machine that computes for stalled, however slowly', () => {
  expect(stalledAfterSeconds(() => 1900)).toBeUndefined();
  expect(stalledAfterSeconds(() => 60)).toBeUndefined();
  // It computes for a moment every half minute.
  expect(stalledAfterSeconds((second) => (second % 30 === 0 ? 3_000 : 0))).toBeUndefined();
});

it('notices within two minutes that a machine has become idle', () => {
  expect(stalledAfterSeconds(() => 0)).toBe(60);
  // The timer ticks of another virtual CPU are not progress.
  expect(stalledAfterSeconds((second) => (second < 100 ? 1_000 : 20))).toBeLessThan(220);
});

it('notices that a machine whose kernel missed a timer makes hardly any progress, and lets one that is slow go on', () => {
  const console = "rcu: rcu_preempt kthread timer wakeup didn't happen for 5251 jiffies! g-1059 f0x0";
  expect(stalledAfterSeconds((second) => (second < 100 ? 4_000 : 250), console)).toBeLessThan(220);
  expect(stalledAfterSeconds(() => 250)).toBeUndefined();
  expect(stalledAfterSeconds(() => 900, console)).toBeUndefined();
  expect(stalledAfterSeconds(() => 900, `${console}\n${console}`)).toBeUndefined();
  expect(stalledAfterSeconds(() => 900, `${console}\n${console}\n${console}`)).toBe(0);
});

it('does not mistake the end of a thread for progress or for a stall', () => {
  const detector = new StallDetector();
  expect(detector.isStalled(0, 50_000, '')).toBe(false);
  expect(detector.isStalled(30_000, 10_000, '')).toBe(false);
  expect(detector.isStalled(59_000, 14_000, '')).toBe(false);
  expect(detector.isStalled(100_000, 14_000, '')).toBe(false);
  expect(detector.isStalled(120_000, 14_000, '')).toBe(true);
});

it('measures the CPU demand of a process', async () => {
  const busy = spawn('sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' });
  try {
    await expect.poll(() => cpuDemandMs(busy.pid ?? 0)).toBeGreaterThan(100);
  } finally {
    busy.kill('SIGKILL');
  }
  expect(await cpuDemandMs(2 ** 30)).toBeUndefined();
});

it('boots again after a stall and reports every retry', async () => {
  const boots = ['stalls', 'stalls', 'boots'];
  const retries: string[] = [];
  const boot = async () => {
    if (boots.shift() === 'stalls') throw new BootStalled('idle');
    return 'template';
  };
  const result = await retryStalledBoot(boot, ({ message }, attempt) => retries.push(`${attempt}: ${message}`));
  expect([result, retries]).toEqual(['template', ['1: idle', '2: idle']]);
});

it('gives up after the last attempt, and at once after any other error', async () => {
  let boots = 0;
  const failWith = (error: Error) => () => {
    boots += 1;
    return Promise.reject(error);
  };
  await expect(retryStalledBoot(failWith(new BootStalled('idle')), () => {})).rejects.toThrow('idle');
  expect(boots).toBe(maxBootAttempts);
  boots = 0;
  await expect(retryStalledBoot(failWith(new Error('no disk')), () => {})).rejects.toThrow('no disk');
  expect(boots).toBe(1);
});
