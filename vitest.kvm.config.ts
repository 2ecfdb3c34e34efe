import { defineConfig } from 'vitest/config';
import { FailureReport } from './test/support/failure-report.ts';
import { SkipReport } from './test/support/skip-report.ts';
import { SuiteTimes } from './test/support/suite-times.ts';

/** A selection of the machines' suites, and the suites in test/kvm that need KVM. Run by `npm run test:kvm`. */
const shortSuites = ['test/kvm/**/*.test.ts', 'test/machines/driver.test.ts'];

/** Suites with dozens of machines or processes are left out: in an outer machine they would take hours. */
const fullSuites = [
  ...shortSuites,
  'test/machines/{clock,cpu,jail}.test.ts',
  'test/service/{commands,identity,sizes}.test.ts',
];

export default defineConfig({
  test: {
    name: 'kvm',
    include: process.env.MAYFLY_KVM_SHORT ? shortSuites : fullSuites,
    globalSetup: ['test/kvm/global-setup.ts'],
    reporters: ['default', new SkipReport(), new SuiteTimes(), new FailureReport()],
    setupFiles: 'test/support/diagnosis/setup.ts',
    environment: 'node',
    fileParallelism: false,
    // An outer machine is an emulation in which everything takes ten times longer.
    testTimeout: 1_800_000,
    hookTimeout: 1_800_000,
    expect: { poll: { timeout: 600_000, interval: 200 } },
  },
});
