import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Announcer } from '../announce.ts';
import { type Check, runBeside, runSideBySide } from './run-programs.ts';

const node = (title: string, script: string): Check => ({ title, program: process.execPath, args: ['-e', script] });

function options() {
  const lines: string[] = [];
  const announcer: Announcer = { line: (text) => void lines.push(text), step: (_, work) => work(() => {}) };
  return { announcer, env: process.env, lines };
}

async function run(...checks: Check[]) {
  const { lines, ...rest } = options();
  const failed = await runSideBySide(checks, rest);
  return { failed, lines };
}

it('runs every check although some fail, and names those', async () => {
  const { failed, lines } = await run(
    node('first', 'process.exit(3)'),
    node('second', ''),
    { title: 'third', program: '/nonexistent', args: [] },
    node('fourth', 'process.kill(process.pid, "SIGKILL")'),
  );
  expect(failed).toEqual(['first', 'third', 'fourth']);
  const ends = lines.filter((line) => !line.startsWith('▸')).sort();
  expect(ends).toEqual([
    expect.stringMatching(/^✓ second … [\d.]+ s$/),
    expect.stringMatching(/^✗ first … [\d.]+ s, exit code 3$/),
    expect.stringMatching(/^✗ fourth … [\d.]+ s, exit code 137$/),
    expect.stringMatching(/^✗ third … [\d.]+ s, exit code 127\n.*\/nonexistent/),
  ]);
});

it('runs two at a time and keeps together what each of them writes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-checks-'));
  // Each writes a line, waits for the other to have done so, and writes another.
  const talk = (own: string, other: string) => `
    const { existsSync, writeFileSync } = require('node:fs');
    console.log('one');
    writeFileSync(${JSON.stringify(join(folder, own))}, '');
    const timer = setInterval(() => {
      if (!existsSync(${JSON.stringify(join(folder, other))})) return;
      console.log('two');
      clearInterval(timer);
    }, 10);`;
  try {
    const { lines } = await run(node('first', talk('a', 'b')), node('second', talk('b', 'a')));
    expect(lines.filter((line) => line.endsWith(' s\none\ntwo'))).toHaveLength(2);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('beside a check on the terminal, runs another to its end, and fails if either does', async () => {
  const { lines, ...rest } = options();
  const passes = node('passes', '');
  const talks = node('talks', 'console.log("said"); process.exit(3)');
  expect(await runBeside(passes, passes, rest)).toBe(0);
  expect(await runBeside(passes, talks, rest)).toBe(1);
  expect(await runBeside(node('fails', 'process.exit(4)'), passes, rest)).toBe(4);
  expect(lines).toContainEqual(expect.stringMatching(/^✗ talks … [\d.]+ s, exit code 3\nsaid$/));
});
