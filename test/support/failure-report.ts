import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node';
import { failedTestMark } from '#setup/outer-machine/verdict.ts';

/** Prints a line as soon as a test fails, for a person who ends the run before its report. */
export class FailureReport implements Reporter {
  onTestCaseResult(test: TestCase): void {
    if (test.result().state === 'failed') print(test.module, test.fullName);
  }

  /** A suite has errors of its own when one of its hooks fails. */
  onTestSuiteResult(suite: TestSuite): void {
    if (suite.errors().length > 0) print(suite.module, suite.fullName);
  }

  onTestModuleEnd(module: TestModule): void {
    if (module.errors().length > 0) print(module, 'the file itself');
  }
}

function print({ relativeModuleId }: TestModule, name: string): void {
  process.stdout.write(`${failedTestMark}${relativeModuleId} > ${name}\n`);
}
