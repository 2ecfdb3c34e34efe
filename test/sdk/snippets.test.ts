import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { projectRoot } from '#setup/environment.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

const run = promisify(execFile);
const readme = await readFile(join(projectRoot, 'packages/sdk/README.md'), 'utf8');
const snippets = Array.from(readme.matchAll(/^```ts\n(.*?)^```/gms), ([, code = '']) => code);

let service: TestService;
let project: string;
beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'mayfly-snippets-'));
  const folder = join(project, 'node_modules/@mayfly/sdk');
  await run(process.execPath, [join(projectRoot, 'packages/sdk/build.ts'), folder], { timeout: 500_000 });
  service = await startTestService();
});
afterAll(async () => {
  await service.stop();
  await rm(project, { recursive: true, force: true });
});

it.each(
  snippets.map((code, index) => [code.split('\n').find((line) => line.includes('await')) ?? '', code, index] as const),
)('the program of the README with "%s" runs and leaves no sandbox', async (_, code, index) => {
  const file = join(project, `snippet-${index}.ts`);
  await writeFile(file, code);
  const env = { ...process.env, MAYFLY_BASE_URL: service.url, MAYFLY_API_KEY: service.key };
  const { stdout, stderr } = await run(process.execPath, [file], { env, timeout: 500_000 });
  expect(stderr).toBe('');
  expect(stdout).not.toBe('');
  const listed = await fetch(`${service.url}/v1/sandboxes`, { headers: { authorization: `Bearer ${service.key}` } });
  expect(await listed.json()).toMatchObject({ data: [] });
});

it('the README has programs', () => {
  expect(snippets.length).toBeGreaterThan(6);
});
