import { defineConfig } from 'vitest/config';
import { SkipReport } from './test/support/skip-report.ts';

/**
 * Suites on real machines share the host: one file at a time, one suite after the other. Every timeout is a multiple of what is observed:
 * no test may fail because the host is slow.
 */
const onMachines = {
  environment: 'node',
  fileParallelism: false,
  testTimeout: 600_000,
  hookTimeout: 900_000,
  expect: { poll: { timeout: 120_000, interval: 50 } },
} as const;

const inParallel = { fileParallelism: true, maxWorkers: 2 } as const;

/** Suites on machines that mostly wait, for expiries and for long commands. They run beside the conformance suites. */
const waitingFiles = ['test/lifecycle/{expiry,restart}.test.ts'];

/** Whether the conformance suite tests a running service instead of starting its own. */
const isExternal = Boolean(process.env.MAYFLY_CONFORMANCE_URL);

export default defineConfig({
  test: {
    reporters: ['default', new SkipReport()],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['packages/*/{src,test}/**/*.test.ts'],
          environment: 'node',
          testTimeout: 60_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 30_000 } },
        },
      },
      {
        test: {
          name: 'machines',
          include: ['test/**/*.test.ts'],
          exclude: ['test/conformance/**', 'test/fuzz/**', 'test/kvm/**', ...waitingFiles],
          globalSetup: ['test/support/global-setup.ts'],
          sequence: { groupOrder: 1 },
          ...onMachines,
        },
      },
      {
        test: {
          name: 'waiting',
          include: waitingFiles,
          globalSetup: ['test/support/global-setup.ts'],
          sequence: { groupOrder: 2 },
          ...onMachines,
          ...inParallel,
        },
      },
      {
        test: {
          name: 'conformance',
          include: ['test/conformance/**/*.test.ts'],
          globalSetup: isExternal ? [] : ['test/support/global-setup.ts'],
          sequence: { groupOrder: 2 },
          ...onMachines,
          // Some files mostly wait for rate-limit windows. An external service is tested by one file at a time.
          ...(isExternal ? {} : inParallel),
        },
      },
      {
        test: {
          name: 'fuzz',
          include: ['test/fuzz/**/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts'],
          sequence: { groupOrder: 3 },
          ...onMachines,
        },
      },
    ],
  },
});
