import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

test('a start is refused with a data folder that others can change, which it leaves as it is', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'mayfly-untrusted-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true }));
  chmodSync(dataDir, 0o777);
  const module = JSON.stringify(join(import.meta.dirname, 'supervise.ts'));
  const code = `process.exitCode = await (await import(${module})).supervise({})`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    encoding: 'utf8',
    env: { MAYFLY_DATA_DIR: dataDir },
  });
  expect(stderr).toContain(
    `The data folder ${dataDir} is not safe from other users: every user can write to ${dataDir}`,
  );
  expect(status).toBe(1);
  expect(readdirSync(dataDir)).toEqual([]);
});
