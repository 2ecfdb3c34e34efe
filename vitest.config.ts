import { defineConfig } from 'vitest/config';
import { SkipReport } from './test/support/skip-report.ts';

/** Suites on real machines share the host: one file at a time, one suite after the other. */
const onMachines = {
  environment: 'node',
  fileParallelism: false,
  testTimeout: 120_000,
  hookTimeout: 300_000,
} as const;

export default defineConfig({
  test: {
    reporters: ['default', new SkipReport()],
    projects: [
      { test: { name: 'unit', include: ['packages/*/{src,test}/**/*.test.ts'], environment: 'node' } },
      {
        test: {
          name: 'machines',
          include: ['test/**/*.test.ts'],
          exclude: ['test/conformance/**', 'test/fuzz/**'],
          globalSetup: ['test/support/prepare.ts'],
          sequence: { groupOrder: 1 },
          ...onMachines,
        },
      },
      {
        test: {
          name: 'conformance',
          include: ['test/conformance/**/*.test.ts'],
          globalSetup: ['test/support/conformance/prepare.ts'],
          sequence: { groupOrder: 2 },
          ...onMachines,
          // Some files mostly wait for windows and clocks to run out. A given service is asked by one file at a time.
          ...(process.env.MAYFLY_CONFORMANCE_URL ? {} : { fileParallelism: true, maxWorkers: 2 }),
        },
      },
      {
        test: {
          name: 'fuzz',
          include: ['test/fuzz/**/*.test.ts'],
          globalSetup: ['test/support/prepare.ts'],
          sequence: { groupOrder: 3 },
          ...onMachines,
        },
      },
    ],
  },
});
