import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { projectRoot } from '#setup/environment.ts';
import { length } from '../support/length.ts';
import { readPage, snippetsOf } from '../support/markdown.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

const run = promisify(execFile);

/** What a program of the recipes prints, among other things. */
const printedByRecipes: readonly (readonly RegExp[])[] = [
  [/exitCode: 0,\s+stdout: '45\\n'/, /exitCode: 3/, /status: 'timeout',\s+exitCode: 124/],
  [/^open https:/m, /<h1>first draft<\/h1>/, /<h1>second draft<\/h1>/, /^ended by \d+$/m],
  [/^prepared snap_\w+ small \d+$/m, /'1666683333'/, /'1666716667'/, /'1666650000'/, /^gone /m],
  [
    /printed: 'area of 2\\n',\s+value: '12\.57'/,
    /ZeroDivisionError/,
    /value: '2'/,
    /KeyboardInterrupt/,
    /value: 'True'/,
  ],
  [/-> exit code 0\n30\n/, /-> Error: .*app\.py/, /undo .* -> The machine/, /-> print\(sum/],
];

const programs = ['packages/sdk/README.md', 'docs/sdk.md', 'docs/recipes.md'].flatMap((path) =>
  snippetsOf(readPage(path))
    .filter(({ language }) => language === 'ts')
    .map(({ content }, index) => ({
      path,
      index,
      code: content,
      firstCall: content.split('\n').find((line) => /^(?!async ).*await/.test(line)) ?? '',
      file: `${path.replaceAll(/\W/g, '-')}-${index}.ts`,
      printed: path === 'docs/recipes.md' ? printedByRecipes[index] : [/./],
    })),
);

let service: TestService;
let project: string;
beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'mayfly-snippets-'));
  const folder = join(project, 'node_modules/@mayfly/sdk');
  await run(process.execPath, [join(projectRoot, 'packages/sdk/build.ts'), folder], { timeout: 500_000 });
  await symlink(join(projectRoot, 'node_modules/@types'), join(project, 'node_modules/@types'));
  await writeFile(join(project, 'package.json'), '{ "type": "module" }');
  await Promise.all(programs.map(({ file, code }) => writeFile(join(project, file), code)));
  service = await startTestService();
});
afterAll(async () => {
  await service.stop();
  await rm(project, { recursive: true, force: true });
});

it('the documentation has programs', () => {
  expect(programs.length).toBeGreaterThan(20);
  expect(programs.filter(({ path }) => path === 'docs/recipes.md')).toHaveLength(printedByRecipes.length);
});

it('all programs pass the strict checks of TypeScript, with the types of the published package', async () => {
  const compiler = join(projectRoot, 'node_modules/typescript-7/bin/tsc');
  const options = ['--noEmit', '--strict', '--target', 'esnext', '--module', 'nodenext', '--types', 'node'];
  const args = [compiler, ...options, '--ignoreConfig', ...programs.map(({ file }) => file)];
  const { stdout } = await run(process.execPath, args, { cwd: project, timeout: 500_000 }).catch(
    (error: { stdout: string }) => error,
  );
  expect(stdout).toBe('');
});

/** Recipes take the longest, so `npm test` runs only the first. The others are type-checked. */
const runnable = programs.filter(({ path, index }) => path !== 'docs/recipes.md' || index < length(1, Infinity));

it.each(runnable)(
  'the program of $path with "$firstCall" runs and leaves nothing behind',
  async ({ file, printed }) => {
    const env = {
      ...process.env,
      MAYFLY_BASE_URL: service.url,
      MAYFLY_API_KEY: service.key,
    };
    const { stdout, stderr } = await run(process.execPath, [join(project, file)], { env, timeout: 500_000 });
    expect(stderr).toBe('');
    for (const pattern of printed ?? []) expect(stdout).toMatch(pattern);
    for (const kind of ['sandboxes', 'snapshots']) {
      const listed = await fetch(`${service.url}/v1/${kind}`, { headers: { authorization: `Bearer ${service.key}` } });
      expect(await listed.json()).toMatchObject({ data: [] });
    }
  },
);
