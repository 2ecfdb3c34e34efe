import { globSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { speeds, suites } from './packages/setup/src/suites/suites.ts';
import { HungSuites } from './test/support/hung-suites.ts';
import { SkipReport } from './test/support/skip-report.ts';
import { SuiteTimes } from './test/support/suite-times.ts';

/**
 * Node.js itself loads the files of tests and removes their types, as it does for the service. Vite would transform them again for every process, which
 * took a fifth of the processor time of a small suite.
 */
const loading = {
  setupFiles: ['test/support/compile-cache.ts', 'test/support/diagnosis/setup.ts'],
  experimental: { viteModuleRunner: false, nodeLoader: false },
};

/**
 * Suites on real machines share the host: first those that need it for themselves, one at a time, then the others, a few at a time. Every timeout
 * is a multiple of what is observed: no test may fail because the host is slow.
 */
const onMachines = {
  environment: 'node',
  ...loading,
  fileParallelism: false,
  testTimeout: 600_000,
  hookTimeout: 900_000,
  expect: { poll: { timeout: 120_000, interval: 50 } },
} as const;

/** Unit tests that need root, or programs that only set-up installs. `npm run check` runs all others. */
const needsHost = 'packages/*/{src,test}/**/*.root.test.ts';

/** One more than the cores of a small host: some of these mostly wait. */
const unitTests = {
  environment: 'node',
  ...loading,
  maxWorkers: 3,
  testTimeout: 60_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 30_000 } },
} as const;

/**
 * What a test changes or measures that all files in a process share: its clock, globals, modules, environment and signals, its event loop and memory.
 * Such files have a process of their own. The other unit tests share a few processes, because loading the same modules again took half of their time.
 */
const touchesProcess =
  /useFakeTimers|vi\.(?:mock|stub|spyOn)|process\.(?:env\.\w+ =|chdir|memoryUsage|exitCode|on\(|once\()|longest-turn|heapUsed|globalThis\.|\bgc\(/;
const withOwnProcess = (pattern: string): string[] =>
  globSync(pattern).filter((path) => touchesProcess.test(readFileSync(path, 'utf8')));

const allUnitTests = 'packages/*/{src,test}/**/*.test.ts';
const unitTestsWithOwnProcess = withOwnProcess(allUnitTests);

/** Some wait most of the time, so there are more than cores. With four, the cores were never idle, and emulated machines only slowed each other down. */
const inParallel = { fileParallelism: true, maxWorkers: 3 } as const;

/** These wait for minutes. One of them waits at a time, and starts early: beside it others work. */
const waiting = /\/(?:timeouts-and-expiry|rate-limits|expiry)\.test\.ts$/;

/** Without results of an earlier run, small files come last. These are small but run for a minute or more, so they come first. */
const smallAndLong = /\/(?:visits|pool|readers|large-bodies)\.test\.ts$/;

/** These compare speeds, so they come last of those that run alone: `npm test` runs the unit tests beside the first. */
const compareSpeeds = suites.filter(({ alone }) => alone === speeds).map(({ files }) => `/${files}`);

class FilesInOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const waits = sorted.filter(({ moduleId }) => waiting.test(moduleId));
    const others = sorted.filter((file) => !waits.includes(file));
    const isMeasuring = ({ moduleId }: TestSpecification) => compareSpeeds.some((file) => moduleId.endsWith(file));
    const isBeside = ({ project }: TestSpecification) => project.name === 'machines' || project.name === 'conformance';
    const suitesBeside = others.filter(isBeside);
    const isLong = ({ moduleId }: TestSpecification) => smallAndLong.test(moduleId);
    const beside = [...suitesBeside.filter(isLong), ...suitesBeside.filter((file) => !isLong(file))];
    for (const [index, file] of waits.entries()) beside.splice(index * inParallel.maxWorkers, 0, file);
    const rest = others.filter((file) => !isBeside(file));
    return [...rest.filter((file) => !isMeasuring(file)), ...rest.filter(isMeasuring), ...beside];
  }
}

/** Suites that need the host for themselves, for the reasons in the table. */
const aloneFiles = suites.filter(({ alone }) => alone !== undefined).map(({ files }) => files);

/** Whether the conformance suite tests a running service instead of starting its own. */
const isExternal = Boolean(process.env.MAYFLY_CONFORMANCE_URL);

/** `npm run test:busy` reads the results from this file. */
const reportPath = process.env.MAYFLY_TEST_REPORT;
const report: ['json', { outputFile: string }][] =
  reportPath === undefined ? [] : [['json', { outputFile: reportPath }]];

export default defineConfig({
  test: {
    sequence: { sequencer: FilesInOrder },
    reporters: ['default', new HungSuites(), new SkipReport(), new SuiteTimes(), ...report],
    projects: [
      {
        test: {
          name: 'unit',
          include: [allUnitTests],
          exclude: [needsHost, ...unitTestsWithOwnProcess],
          isolate: false,
          ...unitTests,
        },
      },
      {
        test: {
          name: 'unit-own-process',
          include: unitTestsWithOwnProcess,
          exclude: [needsHost],
          ...unitTests,
        },
      },
      {
        test: {
          name: 'root',
          include: [needsHost],
          // After the suites that need the host for themselves: beside those there are the other unit tests already.
          sequence: { groupOrder: 2 },
          ...unitTests,
          // They wait most of the time.
          maxWorkers: 5,
        },
      },
      {
        test: {
          name: 'alone',
          include: aloneFiles,
          globalSetup: ['test/support/global-setup.ts'],
          sequence: { groupOrder: 1 },
          ...onMachines,
        },
      },
      {
        test: {
          name: 'machines',
          include: ['test/**/*.test.ts'],
          exclude: ['test/conformance/**', 'test/fuzz/**', 'test/kvm/**', ...aloneFiles],
          globalSetup: ['test/support/global-setup.ts'],
          sequence: { groupOrder: 3 },
          ...onMachines,
          ...inParallel,
        },
      },
      {
        test: {
          name: 'conformance',
          include: ['test/conformance/**/*.test.ts'],
          globalSetup: isExternal ? [] : ['test/support/global-setup.ts'],
          sequence: { groupOrder: 3 },
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
          sequence: { groupOrder: 4 },
          ...onMachines,
        },
      },
    ],
  },
});
