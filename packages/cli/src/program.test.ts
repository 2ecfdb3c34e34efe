import { expect, test } from 'vitest';
import { mayflyInProcess } from '../test/mayfly.ts';
import { run } from './program.ts';

test.each([
  ['a value that is not allowed', ['create', '--size', 'huge', '--json']],
  ['an unknown command', ['foo', '--json']],
  ['an unknown option', ['ls', '--nonesuch', '--json']],
])('--json is honoured on an invalid command line: %s', async (_, args) => {
  const { code, stdout, stderr } = await mayflyInProcess(args);
  expect(stderr).toMatch(/^error: [^\n]+\n$/);
  expect([code, JSON.parse(stdout)]).toMatchObject([2, { error: { type: 'invalid_command_line' } }]);
});

test('--json after -- belongs to the command in the sandbox', async () => {
  const { code, stdout } = await mayflyInProcess(['run', '--nonesuch', '--', 'tool', '--json']);
  expect([code, stdout]).toEqual([2, '']);
});

test('an unexpected error is one line, with its stack only if MAYFLY_DEBUG is set', async () => {
  for (const [env, lines] of [
    [{}, /^error: Mayfly failed unexpectedly: TypeError: broken\. Set MAYFLY_DEBUG=1 to see where\.\n$/],
    [{ MAYFLY_DEBUG: '1' }, /^TypeError: broken\n +at [\s\S]+\nerror: Mayfly failed unexpectedly/],
  ] as const) {
    let said = '';
    const broken = () => {
      throw new TypeError('broken');
    };
    const stderr = { write: (text: string | Uint8Array) => (said += String(text)) };
    expect(await run(['completion', 'bash'], { env, stdout: { write: broken }, stderr })).toBe(1);
    expect(said).toMatch(lines);
  }
});
