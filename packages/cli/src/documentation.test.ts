import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { commandNodes } from './completion/command-tree.ts';
import { buildProgram } from './program.ts';

const page = readFileSync(new URL('../../../docs/cli.md', import.meta.url), 'utf8');
const stream = { write: () => true };
const nodes = commandNodes(buildProgram({ env: {}, stdout: stream, stderr: stream }));

/** These have pages of their own. */
const elsewhere = /^ (?:admin|template|install-service|uninstall-service)\b/;

test('docs/cli.md names every command and every option', () => {
  const commands = nodes.filter(({ path }) => path !== '' && !elsewhere.test(path));
  expect(commands.map(({ path }) => `mayfly${path}`).filter((command) => !page.includes(command))).toEqual([]);
  const options = commands.flatMap((node) => node.options.map(({ text }) => text));
  expect(options.filter((option) => !page.includes(option))).toEqual([]);
});

test('docs/cli.md shows only options that exist', () => {
  const known = new Set(nodes.flatMap((node) => node.options.map(({ text }) => text)));
  const shown = [...page.matchAll(/(?<![\w-])--[a-z][a-z-]+/g)].map(([option]) => option);
  expect(shown.filter((option) => !known.has(option))).toEqual([]);
});
