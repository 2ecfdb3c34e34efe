import { expect, test } from 'vitest';
import type { GuestStats } from '../ports/guest-agent.ts';
import { statsBetween } from './stats.ts';

const at = (uptimeMs: number, userUs: number, systemUs = 0): GuestStats => ({
  cpu: { count: 2, userUs, systemUs },
  memory: { totalBytes: 100, availableBytes: 60 },
  disk: { totalBytes: 100, freeBytes: 60 },
  network: { rxBytes: 1, txBytes: 2 },
  processes: 3,
  uptimeMs,
});

test('a busy processor is 100 percent, and a guest cannot claim more than its processors', () => {
  expect(statsBetween(at(1_000, 0), at(2_000, 1_000_000)).cpuPercent).toBe(100);
  expect(statsBetween(at(1_000, 0), at(2_000, 100_000, 25_000)).cpuPercent).toBe(12.5);
  expect(statsBetween(at(1_000, 0), at(2_000, 9_000_000)).cpuPercent).toBe(200);
  expect(statsBetween(at(1_000, 500), at(2_000, 0)).cpuPercent).toBe(0);
  expect(statsBetween(at(1_000, 0), at(1_000, 500)).cpuPercent).toBe(0);
});
