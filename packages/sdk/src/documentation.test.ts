import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { errorTable } from './api/error-classes.ts';
import { Command } from './commands/command.ts';
import { CommandResult } from './commands/result.ts';
import { Listing } from './http/pages.ts';
import * as sdk from './index.ts';
import { Files } from './sandboxes/files.ts';
import { Ports } from './sandboxes/ports.ts';
import { Sandboxes } from './sandboxes/sandboxes.ts';
import { Snapshots } from './sandboxes/snapshots.ts';
import { Terminal } from './terminals/terminal.ts';

const page = readFileSync(new URL('../../../docs/sdk.md', import.meta.url), 'utf8');
const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

/** How the page calls an instance of each class. */
const instances = {
  mayfly: sdk.Mayfly,
  'mayfly.sandboxes': Sandboxes,
  'mayfly.snapshots': Snapshots,
  sandbox: sdk.Sandbox,
  'sandbox.files': Files,
  'sandbox.ports': Ports,
  command: Command,
  terminal: Terminal,
  listing: Listing,
} as const;

test.each(Object.entries(instances))('docs/sdk.md names every method of %s', (name, instance) => {
  const members = Object.getOwnPropertyNames(instance.prototype).filter((member) => member !== 'constructor');
  expect(members.length).toBeGreaterThan(0);
  expect(members.filter((member) => !page.includes(`\`${name}.${member}`))).toEqual([]);
});

test('docs/sdk.md names every field of a result', () => {
  const fields = Object.getOwnPropertyNames(new CommandResult({} as sdk.Execution));
  expect([...fields, 'ok'].filter((field) => !page.includes(`\`${field}\``))).toEqual([]);
});

test('docs/sdk.md and the README name everything that can be imported', () => {
  const known = `${page}${readme}`;
  expect(Object.keys(sdk).filter((name) => !new RegExp(`\\b${name}\\b`).test(known))).toEqual([]);
});

test('docs/sdk.md has a row for the error of every type', () => {
  const rows = Object.entries(errorTable).map(([type, { error }]) => `| \`${error.name}\` | \`${type}\` |`);
  expect(rows.filter((row) => !page.includes(row))).toEqual([]);
});

test('docs/sdk.md names every option', () => {
  const folder = new URL('./', import.meta.url);
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const index = readFileSync(new URL('index.ts', folder), 'utf8');
  const options = sources
    .map((file) => readFileSync(new URL(file, folder), 'utf8'))
    .flatMap((source) => [...source.matchAll(/^export interface (\w*(?:Options|Settings)) .*?^\}/gms)])
    .filter(([, name = '']) => index.includes(name))
    .flatMap(([declaration]) => [...declaration.matchAll(/^ {2}readonly (\w+)\??:/gm)])
    .map(([, name = '']) => name);
  expect(options).toContain('lifetimeMinutes');
  expect(options.filter((name) => !new RegExp(`\\b${name}\\b`).test(page))).toEqual([]);
});
