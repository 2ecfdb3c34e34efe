// A setup file of Vitest: it runs in the process of every test file, before that file.
import { beforeEach, expect } from 'vitest';
import { describeSuite } from './describe-suite.ts';
import { ownRecord, recordFile, recordTest } from './suite-record.ts';

/** One cause often fails every test that follows. */
const maxDescribed = 3;
let failures = 0;

recordFile(expect.getState().testPath ?? '');

beforeEach(({ task, onTestFinished, onTestFailed }) => {
  onTestFinished(recordTest(task.fullTestName));
  onTestFailed(() => {
    failures += 1;
    if (failures > maxDescribed) return;
    const lines = [`-- failed: ${task.fullName}`, ...describeSuite(ownRecord())];
    process.stderr.write(`\n${lines.join('\n')}\n\n`);
  });
});
