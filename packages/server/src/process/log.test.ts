import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openLog } from './log.ts';
import { logLimits } from './log-rate.ts';

let lines: string[];
beforeEach(() => {
  vi.useFakeTimers();
  lines = [];
});
afterEach(() => void vi.useRealTimers());

const open = () => openLog({ logLevel: 'info', process: 'service' }, { write: (line) => void lines.push(line) });
const bytesWritten = () => lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
const last = (): unknown => JSON.parse(lines.at(-1) ?? '');
/** About 64 KiB, so that a few hundred lines exceed every limit. */
const text = 'ü'.repeat(32_768);

test('a line has level, time, process and event, and no credentials', () => {
  open().info({ id: 'sbx_1', headers: { authorization: 'Bearer mf_1' } }, 'sandbox_created');
  expect(last()).toEqual({
    level: 'info',
    time: new Date().toISOString(),
    process: 'service',
    id: 'sbx_1',
    headers: { authorization: '[Redacted]' },
    event: 'sandbox_created',
  });
});

test('a flood of lines is cut to the rate, and one line says how much was dropped', async () => {
  const log = open();
  for (let count = 0; count < 1_000; count += 1) log.info({ text }, 'flood');
  expect(bytesWritten()).toBeLessThanOrEqual(logLimits.burstBytes - logLimits.reservedBytes);
  const written = lines.length;
  await vi.advanceTimersByTimeAsync(logLimits.reportMs);
  expect(lines.length).toBe(written + 1);
  const report = { level: 'warn', process: 'service', event: 'log_lines_dropped', lines: 1_000 - written };
  expect(last()).toMatchObject({ ...report, bytes: expect.any(Number) });

  lines = [];
  for (let tick = 0; tick < 1_000; tick += 1) {
    log.info({ text }, 'flood');
    log.info({ text }, 'flood');
    await vi.advanceTimersByTimeAsync(10);
  }
  // Ten seconds, and what was left or earned before.
  expect(bytesWritten()).toBeLessThanOrEqual(12 * logLimits.bytesPerSecond);
  expect(bytesWritten()).toBeGreaterThan(9 * logLimits.bytesPerSecond);
  expect(lines.filter((line) => line.includes('log_lines_dropped')).length).toBeLessThanOrEqual(10);
});

test('errors are written while other lines are dropped, but not without a bound', () => {
  const log = open().child({ part: 'http' });
  for (let count = 0; count < 1_000; count += 1) log.info({ text }, 'flood');
  log.error({ text: 'short' }, 'store_failed');
  expect(last()).toMatchObject({ level: 'error', part: 'http', event: 'store_failed' });
  for (let count = 0; count < 1_000; count += 1) log.error({ text }, 'store_failed');
  expect(bytesWritten()).toBeLessThanOrEqual(logLimits.burstBytes);
});

test('the documentation names the limits', () => {
  const page = readFileSync(new URL('../../../../docs/operating.md', import.meta.url), 'utf8').replaceAll(/\s+/g, ' ');
  const { bytesPerSecond, burstBytes, reservedBytes } = logLimits;
  const mib = (bytes: number) => `${bytes / 1_048_576} MiB`;
  expect(page).toContain(
    `writes at most ${mib(bytesPerSecond)} per second (after a quiet time ${mib(burstBytes)} at once`,
  );
  expect(page).toContain(`, ${mib(reservedBytes)} of them for warnings and errors only)`);
});

test('nothing is reported when nothing was dropped', async () => {
  open().info('quiet');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(lines.length).toBe(1);
});
