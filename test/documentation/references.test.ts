import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { operatorLimitKeys } from '@mayfly/contract';
import { describe, expect, it } from 'vitest';
import { limitSetting } from '#server/app/config.ts';
import { suiteTable } from '#setup/suites/markdown.ts';
import {
  anchorsOf,
  documentationPages,
  inlineCode,
  localLinks,
  type Page,
  readPage,
  repositoryRoot,
  snippetsOf,
} from '../support/markdown.ts';

const pages = documentationPages();
const settings = knownSettings();
const bootstrapCommands = listBootstrapCommands();
const serverSource = join(repositoryRoot, 'packages/server/src');

/**
 * A page may name a path of the repository in full, or one of the server's sources without their common beginning. ARCHITECTURE.md names all of them
 * in full: `guest/attach` alone could be the agent's or the service's.
 */
const startsLikePath =
  /^(\.ci|admin|app|bench|confinement|core|docs|gateway|guest|host|host-process|http|listening|machines|metrics|native|packages|process|screens|scripts|store|supervisor|system|test)\//;

const namesFile = /\.(?:cjs|go|mjs|ts)$/;
const hasFullPaths = ({ path }: Page): boolean => path === 'ARCHITECTURE.md';

function pathsIn(page: Page): string[] {
  return inlineCode(page)
    .flatMap((code) => code.split(/[\s,;:]+/))
    .filter((word) => startsLikePath.test(word) || (hasFullPaths(page) && namesFile.test(word)))
    .filter((word) => !/[<>…$%]/.test(word));
}

function exists(path: string, page: Page): boolean {
  const short = hasFullPaths(page) ? [] : [serverSource, join(repositoryRoot, dirname(page.path))];
  return [repositoryRoot, ...short].some((base) => {
    const full = join(base, path);
    return existsSync(full) || (/[*{]/.test(path) && globSync(full).length > 0);
  });
}

describe.each(pages.map((page) => [page.path, page] as const))('%s', (_path, page) => {
  it('names only paths that exist', () => {
    expect(pathsIn(page).filter((path) => !exists(path, page))).toEqual([]);
  });

  it('links only to pages and headings that exist', () => {
    const broken = localLinks(page).filter((target) => {
      const [file = '', anchor] = target.split('#');
      const path = file === '' ? page.path : normalize(join(dirname(page.path), file));
      if (!existsSync(join(repositoryRoot, path))) return true;
      return anchor !== undefined && !anchorsOf(readPage(path)).has(anchor);
    });
    expect(broken).toEqual([]);
  });

  it('names only npm scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const text = codeOf(page);
    const named = [...text.matchAll(/\bnpm (?:run )?([a-z][\w:-]*)/g)].map(([, name = '']) => name);
    const ofNpm = ['ci', 'install', 'registry'];
    expect(named.filter((name) => !(name in scripts) && !ofNpm.includes(name))).toEqual([]);
  });

  it('names only commands of bootstrap.mjs that exist', () => {
    const named = [...codeOf(page).matchAll(/\bbootstrap\.mjs ([a-z-]+)/g)].map(([, name = '']) => name);
    expect(named.filter((name) => !bootstrapCommands.includes(name))).toEqual([]);
  });

  it('names only settings that exist', () => {
    const named = new Set(codeOf(page).match(/\bMAYFLY_[A-Z][A-Z_]*[A-Z]\b/g) ?? []);
    expect([...named].filter((name) => !settings.has(name))).toEqual([]);
  });

  it('shows only commands and options of `mayfly` that exist', () => {
    const calls = [
      ...codeOf(page).matchAll(/\bmayfly (admin(?: [a-z-]+){0,2})((?: --?[^\n|`)]*)?)/g),
      ...codeOf(page).matchAll(/\bnpx mayfly ((?!admin\b)[a-z][a-z-]*)/g),
    ];
    const unknown = calls.filter(([, command = '', options = '']) => {
      const help = helpOf(command);
      if (help === undefined) return true;
      const given = options.match(/--[a-z-]+/g) ?? [];
      return given.some((option) => option !== '--help' && !help.includes(option));
    });
    expect(unknown.map(([call]) => call)).toEqual([]);
  });
});

it('SECURITY.md says how to report a vulnerability, and the README leads there', () => {
  expect(localLinks(readPage('README.md'))).toContain('SECURITY.md');
  expect(readPage('SECURITY.md').text).toMatch(/^## Reporting a vulnerability\n.*report it privately/m);
});

it('CONTRIBUTING.md has the table of suites as the code has it', () => {
  const { text } = readPage('CONTRIBUTING.md');
  const printed = /^\| suite \|.*\n(?:\|.*\n)*/m.exec(text)?.[0];
  // When it differs, replace the table of the page by the one that is expected here.
  expect(printed).toBe(suiteTable());
});

it.each(['ARCHITECTURE.md', 'CONTRIBUTING.md', '.dependency-cruiser.cjs'])(
  '%s has the directions of imports',
  (path) => {
    const directions = /contract ← .* ← setup/.exec(readPage(path).text.replaceAll(/\s+/g, ' '))?.[0];
    const withoutDetails = directions?.replaceAll(/ \([^)]*\)/g, '');
    expect(withoutDetails).toBe('contract ← core ← adapters ← app, host process and supervisor ← setup');
  },
);

it('ARCHITECTURE.md says what every process of docs/security.md owns', () => {
  const processesIn = (path: string): string[] => {
    const table = /^\| process \|.*\n\|.*\n((?:\|.*\n)*)/m.exec(readPage(path).text)?.[1] ?? '';
    return [...table.matchAll(/^\| (.*?) \|/gm)].flatMap(([, names = '']) => names.split(' and ')).sort();
  };
  // The jail is a process only until it has become another.
  expect(processesIn('ARCHITECTURE.md')).toEqual(processesIn('docs/security.md').filter((name) => name !== 'jail'));
});

function codeOf(page: Page): string {
  return [...inlineCode(page), ...snippetsOf(page).map(({ content }) => content)].join('\n');
}

/** Every variable that some code of the project reads. */
function knownSettings(): Set<string> {
  const files = globSync(
    ['packages/*/src/**/*.ts', 'packages/*/test/**/*.ts', 'test/**/*.ts', 'guest/**/*.go', 'native/**/*.go', '.ci/run'],
    {
      cwd: repositoryRoot,
    },
  );
  const text = files.map((file) => readFileSync(join(repositoryRoot, file), 'utf8')).join('\n');
  const named = [...text.matchAll(/\bMAYFLY_[A-Z][A-Z_]*[A-Z]\b/g)].map(([name]) => name);
  return new Set([...named, ...operatorLimitKeys.map(limitSetting)]);
}

/** The commands that bootstrap.mjs names when it is given another. */
function listBootstrapCommands(): string[] {
  const { stderr } = spawnSync(process.execPath, [join(repositoryRoot, 'bootstrap.mjs'), 'unknown'], {
    encoding: 'utf8',
  });
  return /Use one of: (.*)\.$/m.exec(stderr)?.[1]?.split(', ') ?? [];
}

const helps = new Map<string, string | undefined>();

/** What `mayfly COMMAND --help` prints; undefined if there is no such command. */
function helpOf(command: string): string | undefined {
  if (!helps.has(command)) {
    try {
      const program = join(repositoryRoot, 'packages/cli/bin/mayfly.mjs');
      const printed = execFileSync(process.execPath, [program, ...command.split(' '), '--help'], { encoding: 'utf8' });
      const last = command.split(' ').at(-1) ?? '';
      helps.set(command, printed.includes(last) ? printed : undefined);
    } catch {
      helps.set(command, undefined);
    }
  }
  return helps.get(command);
}
