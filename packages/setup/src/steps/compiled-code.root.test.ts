import { copyFile, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from '@mayfly/server/system';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { shareWithUser } from './compiled-code.ts';

const uid = 65_534;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-compiled-code-'));
  await runProgram('chmod', ['0755', folder]);
});

afterAll(() => rm(folder, { recursive: true }));

test('another user starts with the code that root compiled, and can change none of it', async () => {
  // The checkout may be below root's home, where others cannot run it.
  const node = join(folder, 'node');
  await copyFile(process.execPath, node);
  const program = join(folder, 'program.mjs');
  const cache = join(folder, 'cache');
  await writeFile(program, `console.log('it runs');\n`);
  // What Node.js says about each file that it takes from the folder.
  const env = { NODE_COMPILE_CACHE: cache, NODE_DEBUG_NATIVE: 'COMPILE_CACHE', HOME: '/nonexistent' };
  const lines: string[] = [];
  const run = async (command: string, args: readonly string[]) => {
    lines.length = 0;
    expect(await runProgram(command, args, { env, onLine: (line) => lines.push(line) })).toContain('it runs');
    return lines.filter((line) => line.includes('program.mjs'));
  };
  await run(node, [program]);
  await shareWithUser(cache, uid);

  const ids = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
  const used = await run('/usr/bin/setpriv', [...ids, node, program]);
  expect(used.join('\n')).toContain('was accepted');

  for (const path of await readdir(cache, { recursive: true })) {
    const { uid: owner, mode } = await stat(join(cache, path));
    expect([path, owner, mode & 0o022]).toEqual([path, 0, 0]);
  }
});
