import { execFileSync } from 'node:child_process';
import { runInNewContext } from 'node:vm';
import { defaultLimits, defineOperations } from '@mayfly/contract';
import { expect, test } from 'vitest';
import { bodyOf, callSnippets, type NewSandbox } from './call.ts';
import { quoteForShell, quoteForTypeScript } from './quoting.ts';

const origin = 'https://mayfly.example.com';
const plain: NewSandbox = { size: 'medium', name: '', minutes: 30, snapshotId: undefined };

const hostileNames = [
  "it's",
  `'; rm -rf / #`,
  '"; process.exit(1); //',
  '$(id) `id` $HOME',
  '-rf',
  '--size=large',
  '\\',
  "\\'",
  '!! *?[a]{b,c}~',
  'line\nbreak\ttab',
  '\u2028\u2029\u0007',
  '<img src=x onerror=alert(1)>',
  'Grüße 🦋 \u202e',
  '%s %n &&|>',
];

/** What a shell makes of the words of a command: its arguments. `curl` and `mayfly` only print them. */
function argumentsOf(command: string): readonly string[] {
  const print = 'print() { printf "%s\\0" "$@"; }; curl() { print "$@"; }; mayfly() { print "$@"; }';
  const output = execFileSync('sh', ['-c', `${print}\n${command}`], {
    env: { MAYFLY_API_KEY: 'mf_key' },
    encoding: 'utf8',
  });
  return output.split('\0').slice(0, -1);
}

test.each(hostileNames)('the name %j arrives in every language as it was typed', (name) => {
  const { curl, cli, typescript } = callSnippets({ ...plain, name }, origin);
  const sent = { size: 'medium', name: name.trim(), timeout_minutes: 30 };
  expect(argumentsOf(curl.source)).toEqual([
    '-X',
    'POST',
    `${origin}/v1/sandboxes`,
    '-H',
    'Authorization: Bearer mf_key',
    '-H',
    'Content-Type: application/json',
    '-d',
    JSON.stringify(sent),
  ]);
  const words = argumentsOf(cli.source);
  const given = words.includes('--name')
    ? words[words.indexOf('--name') + 1]
    : words.find((word) => word.startsWith('--name='))?.slice(7);
  expect(given).toBe(name.trim());
  expect(words.slice(0, 3)).toEqual(['create', '--url', origin]);
  const options = /create\(({.*})\);/s.exec(typescript.source)?.[1] ?? '';
  expect(runInNewContext(`(${options})`)).toEqual({ size: 'medium', name: name.trim(), lifetimeMinutes: 30 });
});

test.each(['', ...hostileNames])('%j stays one word and one literal', (text) => {
  expect(argumentsOf(`mayfly ${quoteForShell(text)}`)).toEqual([text]);
  expect(runInNewContext(quoteForTypeScript(text))).toBe(text);
  expect(quoteForTypeScript(text)).not.toMatch(/[\n\r\u2028\u2029]/);
});

test('a copy of a snapshot has its size', () => {
  const copy: NewSandbox = { ...plain, name: 'x', snapshotId: 'snap_m4t7' };
  expect(bodyOf(copy)).toEqual({ snapshot_id: 'snap_m4t7', name: 'x', timeout_minutes: 30 });
  for (const { source } of Object.values(callSnippets(copy, origin))) {
    expect(source).toContain('snap_m4t7');
    expect(source).not.toContain('medium');
  }
});

test('the service accepts every body', () => {
  const { body } = defineOperations(defaultLimits).createSandbox;
  for (const name of ['', ...hostileNames]) {
    for (const snapshotId of [undefined, 'snap_m4t7']) {
      expect(body.safeParse(bodyOf({ ...plain, name, snapshotId })).success).toBe(true);
    }
  }
});
