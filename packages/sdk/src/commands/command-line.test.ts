import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toShell } from './command-line.ts';

const printArguments = ['-c', 'printf "%s\\0" "$@"', 'bash'];
const run = (command: readonly (string | Uint8Array)[]) =>
  execFileSync('bash', ['-c', toShell(command)], { env: { ...process.env, LC_ALL: 'C' } });

test('the arguments of an array reach the program byte for byte, whatever they contain', () => {
  const argument = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('', '-n', '$HOME', '`id`', "it's", '"', '\\', '!!', '*', '~', '\n', '\r\n', ' ', '$(id)', "''"),
  );
  const exact = (args: readonly string[]) => {
    const printed = run(['bash', ...printArguments, ...args]).toString();
    return printed === (args.length === 0 ? '\0' : args.map((one) => `${one}\0`).join(''));
  };
  const withoutNul = fc.array(
    argument.filter((one) => !one.includes('\0')),
    { maxLength: 6 },
  );
  fc.assert(fc.property(withoutNul, exact), { numRuns: 40, seed: 1 });
});

test('bytes that are not text stay as they are', () => {
  const bytes = Uint8Array.from({ length: 255 }, (_, index) => index + 1);
  expect(run(['printf', '%s', bytes])).toEqual(Buffer.from(bytes));
});

test('a string is left to bash', () => {
  expect(toShell('echo $HOME | wc -c')).toBe('echo $HOME | wc -c');
});

test('a program that begins with a dash is a program, and no shell remains', () => {
  expect(toShell(['-x', 'a b'])).toBe("exec -- -x 'a b'");
});

test('an empty command and NUL are refused', () => {
  expect(() => toShell([])).toThrow('The command is empty');
  expect(() => toShell(['a\0b'])).toThrow('must not contain NUL');
  expect(() => toShell([new Uint8Array([1, 0])])).toThrow('must not contain NUL');
});
