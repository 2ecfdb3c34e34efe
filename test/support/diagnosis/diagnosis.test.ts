import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';

/** Twenty times what the fixture that ends by itself takes. */
const limitMinutes = '0.2';
let run: { readonly stdout: string; readonly stderr: string; readonly status: number | null };

beforeAll(() => {
  const outer = Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST'));
  run = spawnSync(process.execPath, [join(import.meta.dirname, 'fixtures/run.ts')], {
    env: { ...Object.fromEntries(outer), MAYFLY_TEST_FILE_MINUTES: limitMinutes },
    encoding: 'utf8',
  });
});

test('a file that blocks its process and one whose hook never ends are ended and named, and fail the run', () => {
  expect(run.stderr).toMatch(/spins\.fixture\.ts did not end .*\n-- running test: blocks its process\n-- host: /);
  expect(run.stderr).toMatch(/never-ends\.fixture\.ts did not end .*\n-- running test: none/);
  expect(run.stdout).toMatch(/ended: never-ends\.fixture\.ts did not end within 0\.2 minutes\./);
  expect(run.status).toBe(1);
});

test('the other files of the run are not affected', () => {
  expect(run.stderr).not.toContain('fails.fixture.ts did not end');
  expect(run.stderr).toContain('failed: fails.fixture.ts > failure 1');
});

test('the first three failures of a file print the host, the last lines of the log and the consoles', () => {
  const [, first = '', ...others] = run.stderr.split('-- failed: ');
  expect(others).toHaveLength(2);
  expect(first).toMatch(/-- host: .* GiB memory available, .* GiB disk free in .*, load /);
  expect(first).not.toContain('"line":1100}');
  for (const line of [1101, 1200]) expect(first).toContain(`"line":${line}}`);
  expect(first).toContain('-- sbx_1/console.log\nKernel panic\n');
});

test('every file has a line with its time, the slowest first', () => {
  const times = run.stdout.split('\n').filter((line) => / +\d+\.\d +\d+ {2}\S+\.fixture\.ts/.test(line));
  expect(times).toHaveLength(3);
  expect(times[2]).toContain('fails.fixture.ts');
});
