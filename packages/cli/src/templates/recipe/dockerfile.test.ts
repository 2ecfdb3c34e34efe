import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseDockerfile } from './dockerfile.ts';
import { sandboxEnvironment } from './dockerfile-words.ts';
import { RecipeError } from './recipe.ts';

const parse = (source: string) => parseDockerfile(source, { alias: 'web' });

function mistakes(source: string): string[] {
  try {
    parse(source);
    return [];
  } catch (error) {
    if (!(error instanceof RecipeError)) throw error;
    return error.mistakes.map(({ line, field, message }) => `${line}: ${field ?? ''} ${message}`);
  }
}

test('the supported instructions become steps', () => {
  const { base, steps } = parse(String.raw`
# A comment
FROM mayfly:medium
ENV A=1 B="two words" C=three\ words
ENV D the rest of the line
WORKDIR /workspace/app
WORKDIR src
COPY package*.json ./
COPY --chmod=755 ["a b.sh", "/workspace/run.sh"]
copy x y $B/
RUN apt list && \
    # a comment in between

    echo "$A"
RUN ["printf", "%s", "it's"]
`);
  expect(base).toBe('medium');
  const env = { A: '1', B: 'two words', C: 'three words', D: 'the rest of the line' };
  const cwd = '/workspace/app/src';
  expect(steps).toMatchObject([
    { command: 'mkdir -p -- /workspace/app', line: 6 },
    { command: 'mkdir -p -- /workspace/app/src', line: 7 },
    { kind: 'copy', sources: ['package*.json'], destination: cwd, intoFolder: true },
    { kind: 'copy', sources: ['a b.sh'], destination: '/workspace/run.sh', intoFolder: false, mode: 0o755 },
    { kind: 'copy', sources: ['x', 'y'], destination: `${cwd}/two words`, intoFolder: true },
    { command: 'apt list &&     echo "$A"', cwd, env, line: 11 },
    { command: `printf %s 'it'\\''s'`, cwd, env },
  ]);
});

test('variables are replaced as Docker does', () => {
  const { finish } = parseDockerfile(
    [
      'FROM small',
      'ENV A=a',
      'ENV PATH=/opt/bin:$PATH A=b OLD=$A',
      `ENV Q="\${A}x" S='$A' E=\\$A N=\${NONE:-none} P=\${A:+set} M=\${NONE:+set}.`,
    ].join('\n'),
    { alias: 'web', start: 'x' },
  );
  expect(finish?.env).toEqual({
    A: 'b',
    PATH: `/opt/bin:${sandboxEnvironment.PATH}`,
    OLD: 'a',
    Q: 'bx',
    S: '$A',
    E: '$A',
    N: 'none',
    P: 'set',
    M: '.',
  });
});

test('the variables of a sandbox are those that the agent sets', () => {
  const source = readFileSync(new URL('../../../../../guest/agent/internal/shell/shell.go', import.meta.url), 'utf8');
  const home = /const Home = "(.*)"/.exec(source)?.[1] ?? '';
  const path = /"PATH": +(.*),/.exec(source)?.[1] ?? '';
  const evaluated = path.replaceAll('Home', home).replaceAll(/"| \+ /g, '');
  expect(sandboxEnvironment).toEqual({ HOME: home, PATH: evaluated, USER: 'sandbox' });
  expect(source).toMatch(/"USER": +"sandbox"/);
});

test.each([
  ['', ['1: FROM is missing. Start with FROM and one of small, medium, large']],
  ['RUN ls', ['1: RUN must come after FROM']],
  [
    'FROM small\nFROM small',
    ['2: FROM with stages is not supported. Build one template per stage, and start the next one from its alias'],
  ],
  [
    'FROM small AS build',
    ['1: FROM with stages is not supported. Build one template per stage, and start the next one from its alias'],
  ],
  [
    'FROM node:24',
    ['1: FROM must name a size (small, medium, large) or the alias of a template. Images of registries cannot be used'],
  ],
  ['FROM web', ['1: FROM must not be the template itself']],
  ['FROM small\nADD a b', ['2: ADD is not supported. Use COPY for files and RUN with curl or tar for the rest']],
  ['FROM small\nUSER root', ['2: USER is not supported. Commands always run as the user sandbox. Remove it']],
  [
    'FROM small\nENTRYPOINT ["x"]\nARG X',
    ['2: ENTRYPOINT is not supported. Pass the command with --start', '3: ARG is not supported. Use ENV'],
  ],
  ['FROM small\nFETCH x', ['2: FETCH is not supported. Supported are FROM, RUN, COPY, ENV, WORKDIR']],
  ['FROM small\nRUN', ['2: RUN has no arguments']],
  [
    'FROM small\nRUN cat <<EOF\nRUN\nEOF',
    expect.arrayContaining([
      '2: RUN with a heredoc is not supported. Copy a script in and run it, or join lines with \\',
    ]),
  ],
  ['FROM small\nRUN --mount=type=cache ls', ['2: RUN does not support --mount. Remove it']],
  [
    'FROM small\nCOPY --from=build a b',
    ['2: COPY does not support --from. Start from the alias of the other template'],
  ],
  ['FROM small\nCOPY --chmod=u+x a b', ['2: COPY needs an octal mode, such as --chmod=755']],
  ['FROM small\nCOPY a', ['2: COPY needs a source and a destination']],
  ['FROM small\nCOPY a b c', ['2: COPY with several sources needs a destination that ends with /']],
  ['FROM small\nENV A', ['2: ENV needs NAME=value']],
  ['FROM small\nENV A=1 B', ['2: ENV needs NAME=value. Quote a value with spaces']],
  ['FROM small\nENV A-B=1', ['2: ENV has "A-B", which is not a valid variable name']],
  ['FROM small\nENV A="1', ['2: ENV has a quote that is not closed']],
  ['FROM small\nENV A=$NONE', ['2: ENV uses $NONE, which no earlier ENV sets. Set it, or write \\$ for a dollar sign']],
  ['# escape=`\nFROM small', ['1:  the parser directive escape is not supported. Remove the line']],
])('%j is refused', (source, expected) => {
  expect(mistakes(source)).toEqual(expected);
});

test('an alias is required', () => {
  expect(() => parseDockerfile('FROM small', {})).toThrow('is missing. Pass --alias');
});
