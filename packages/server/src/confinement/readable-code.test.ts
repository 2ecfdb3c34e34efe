import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { explainUnreadableCode } from './readable-code.ts';

let checkout: string;
const user = { uid: 2_100_200, gid: 2_100_200 };
const at = (path: string) => join(checkout, path);
const explain = () => explainUnreadableCode({ checkout, nodePath: at('node_modules/node/bin/node') }, user);
beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'mayfly-code-'));
  for (const folder of [
    'packages/contract/src',
    'packages/server/src/app',
    'node_modules/node/bin',
    'node_modules/zod',
  ]) {
    mkdirSync(at(folder), { recursive: true });
  }
  const files = [
    'package.json',
    'packages/server/src/app/main.ts',
    'node_modules/node/bin/node',
    'packages/contract/src/a.ts',
  ];
  for (const file of files) writeFileSync(at(file), '');
  for (const path of readdirSync(checkout, { recursive: true })) chmodSync(at(String(path)), 0o755);
  symlinkSync(at('nowhere'), at('node_modules/dangling'));
});
afterEach(() => rmSync(checkout, { recursive: true }));

test('a checkout that others may read is fine, whatever is above it', async () => {
  // mkdtemp made it for its owner alone; only what is bound into the service's view matters.
  expect(await explain()).toBeUndefined();
});

test.each([
  ['package.json', 0o600],
  ['packages/server/src/app/main.ts', 0o640],
  ['packages/contract/src', 0o700],
  ['packages/server/src/app', 0o704],
  ['node_modules', 0o750],
  ['node_modules/zod', 0o700],
  ['node_modules/node/bin/node', 0o750],
])('%s with mode %o is named, with a remedy', async (path, mode) => {
  chmodSync(at(path), mode);
  expect(await explain()).toBe(
    `The service runs as an unprivileged user, which may not read ${at(path)}. Let others read the checkout: chmod -R o+rX ${checkout}`,
  );
});
