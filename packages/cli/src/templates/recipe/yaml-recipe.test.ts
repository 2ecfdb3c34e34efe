import { expect, test } from 'vitest';
import { RecipeError } from './recipe.ts';
import { parseYamlRecipe } from './yaml-recipe.ts';

function mistakes(source: string): string[] {
  try {
    parseYamlRecipe(source);
    return [];
  } catch (error) {
    if (!(error instanceof RecipeError)) throw error;
    return error.mistakes.map(({ line, field, message }) => `${line}: ${field ?? ''} ${message}`);
  }
}

test('every field is read', () => {
  const recipe = parseYamlRecipe(`
alias: web-app
base: node-tools
workdir: app
env: { VERSION: 1.10, ON: yes }
files:
  - { from: src, to: . , mode: 0755 }
  - { from: a.txt, to: /workspace/b.txt }
steps:
  - npm install
  - run: |
      make
      make check
    cwd: sub
    env: { VERSION: 2 }
    timeout_seconds: 30
start: npm start
ready: { port: 3000, timeout_seconds: 20 }
`);
  expect(recipe).toMatchObject({ alias: 'web-app', base: 'node-tools' });
  expect(recipe.steps).toMatchObject([
    { command: 'mkdir -p -- /workspace/app', cwd: '/' },
    { kind: 'copy', sources: ['src'], destination: '/workspace/app', intoFolder: true, mode: 0o755 },
    { kind: 'copy', sources: ['a.txt'], destination: '/workspace/b.txt', intoFolder: false, mode: undefined },
    { command: 'set -e\nnpm install', cwd: '/workspace/app', env: { VERSION: '1.10', ON: 'yes' }, timeoutMs: 600_000 },
    { command: 'set -e\nmake\nmake check\n', cwd: '/workspace/app/sub', env: { VERSION: '2' }, timeoutMs: 30_000 },
  ]);
  expect(recipe.finish).toMatchObject({
    start: 'npm start',
    ready: { check: { port: 3000 }, timeoutMs: 20_000 },
    cwd: '/workspace/app',
  });
});

test('only an alias is required, and the command line can give it', () => {
  expect(parseYamlRecipe('alias: web')).toEqual({ alias: 'web', base: 'small', steps: [], finish: undefined });
  expect(parseYamlRecipe('steps: []', { alias: 'web' }).alias).toBe('web');
  expect(mistakes('steps: []')).toEqual(['1: alias is missing. Add it, or pass --alias']);
});

test.each([
  ['', ['1:  must be a map with the fields alias, base, files, steps, env, workdir, start and ready']],
  ['- a', ['1:  must be a map with the fields alias, base, files, steps, env, workdir, start and ready']],
  ['alias: small', ['1: alias must not be the name of a size (small, medium, large)']],
  ['alias: web\nbase: web', ['2: base must not be the template itself']],
  ['alias: web\nsteps:\n  - ls\n  - { cwd: x }', ['4: steps[1].run must be a command']],
  ['alias: web\nsteps:\n  - { run: ls, user: root }', ['3: steps[0].user is not a field of a recipe here']],
  ['alias: web\nsteps: ls', ['2: steps must be a list']],
  ['alias: web\nsteps:', ['2: steps must be a list']],
  [
    'alias: web\nfiles:\n  - from: a\n    mode: rwx',
    ['3: files[0].to must be a path in the sandbox', '4: files[0].mode must be an octal mode such as 0644'],
  ],
  ['alias: web\nenv:\n  A: 1\n  B-C: 2', ['4: env.B-C is not a valid variable name']],
  ['alias: web\nready: {}', ['2: ready must have exactly one of the fields port and command']],
  ['alias: web\nready: {port: 1, command: ls}', ['2: ready must have exactly one of the fields port and command']],
  ['alias: web\nready: {port: http}', ['2: ready.port must be an integer from 1 to 65535']],
  ['alias: web\nalias: web', ['2:  Map keys must be unique']],
  ['alias: web\nsteps: [a', [expect.stringMatching(/^2: {2}Flow sequence/)]],
])('%j is refused', (source, expected) => {
  expect(mistakes(source)).toEqual(expected);
});

test('a recipe that expands to a huge document is refused', () => {
  const levels = Array.from({ length: 9 }, (_, at) => `l${at + 1}: &l${at + 1} [${`*l${at}, `.repeat(9)}]`);
  expect(mistakes(`l0: &l0 [x]\n${levels.join('\n')}`)).toEqual([expect.stringContaining('Excessive alias count')]);
});
