import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { protectFromOutOfMemory } from './oom-protection.ts';

let folder: string;
let logged: unknown[][];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-oom-'));
  logged = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

const log = Object.fromEntries(
  (['debug', 'info', 'warn', 'error'] as const).map((level) => [
    level,
    (fields: object, event: string) => void logged.push([level, fields, event]),
  ]),
) as unknown as Parameters<typeof protectFromOutOfMemory>[0];

test('sets the score', () => {
  protectFromOutOfMemory(log, folder);
  expect(readFileSync(join(folder, 'oom_score_adj'), 'utf8')).toBe('-999');
  expect(logged).toEqual([]);
});

test.each([
  ['is no news without the privilege, as in a container', '00000000a80425fb', 'debug'],
  ['is one line with it', '000001ffffffffff', 'warn'],
])('a failure %s', async (_, capabilities, level) => {
  await mkdir(join(folder, 'oom_score_adj'));
  writeFileSync(join(folder, 'status'), `Name:\tnode\nCapEff:\t${capabilities}\n`);
  protectFromOutOfMemory(log, folder);
  expect(logged).toEqual([[level, { reason: 'EISDIR' }, 'out_of_memory_protection_failed']]);
});
