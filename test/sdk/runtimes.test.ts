import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from '#setup/environment.ts';
import { findChromium, launchBrowser } from '../support/browser.ts';
import { startTestService, type TestService } from '../support/test-service.ts';
import { installTools } from './tools.ts';

const run = promisify(execFile);
const options = { timeout: 500_000, maxBuffer: 16 * 1024 ** 2 };
const { arch } = process;
const bunArch = arch === 'arm64' ? 'aarch64' : arch;

let service: TestService;
let tool: (path: string) => string;
/** A project that has installed the package as it is published. */
let project: string;
beforeAll(async () => {
  tool = await installTools();
  project = await mkdtemp(join(tmpdir(), 'mayfly-sdk-'));
  const installed = join(project, 'node_modules/@mayfly/sdk');
  await run(process.execPath, [join(projectRoot, 'packages/sdk/build.ts'), installed], options);
  await cp(join(import.meta.dirname, 'programs'), project, { recursive: true });
  await writeFile(join(project, 'package.json'), JSON.stringify({ dependencies: { '@mayfly/sdk': '*' } }));
  service = await startTestService();
});
afterAll(async () => {
  await service.stop();
  await rm(project, { recursive: true, force: true });
});

/** What the scenario reports, on every runtime. */
const expected = {
  hello: [0, 'grüße from Linux\n', 'grüße from Linux\n'],
  failed: 3,
  bytes: [0, 255, 10],
  copied: 'typed end\n',
  terminal: [7, true],
  listed: true,
  unknown: 'not_found',
  ended: 'deleted',
  aborted: 'no',
};
const bundle = (...args: string[]) =>
  run(tool('.bin/esbuild'), [...args, '--bundle', '--log-level=warning'], { ...options, cwd: project });

/** On x86_64 Bun is built for processors with AVX2. */
function mayRunBun(): boolean {
  return arch !== 'x64' || readFileSync('/proc/cpuinfo', 'utf8').includes(' avx2');
}

describe('the published package', () => {
  it('is small, and its types resolve in ECMAScript modules and CommonJS', async () => {
    const folder = join(project, 'node_modules/@mayfly/sdk');
    const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', project, folder], options);
    const [{ filename, size }] = JSON.parse(stdout) as [{ filename: string; size: number }];
    expect((await stat(join(project, filename))).size).toBe(size);
    expect(size).toBeLessThan(50_000);
    await run(tool('.bin/publint'), [folder, '--strict'], options);
    await run(tool('.bin/attw'), [join(project, filename), '--no-color', '--no-emoji'], options);
  });
});

describe('the SDK works unchanged', () => {
  it.for<readonly [string, () => readonly [string, ...string[]]]>([
    ['on Node.js 20', () => [tool(`node-20-${arch}/bin/node`), 'run.mjs']],
    ['on Node.js 20 as CommonJS', () => [tool(`node-20-${arch}/bin/node`), 'run.cjs']],
    ['on Node.js 22', () => [tool(`node-22-${arch}/bin/node`), 'run.mjs']],
    ['on Node.js 24', () => [process.execPath, 'run.mjs']],
    ['on Bun', () => [tool(`@oven/bun-linux-${bunArch}/bin/bun`), 'run.mjs']],
    ['on Deno', () => [tool(`@deno/linux-${arch}-glibc/deno`), 'run', '--allow-net', '--allow-env', 'run.mjs']],
  ])('%s', async ([name, command], { skip }) => {
    if (name === 'on Bun' && !mayRunBun()) skip('Bun needs a processor with AVX2');
    const [program, ...args] = command();
    const { stdout } = await run(program, [...args, service.url, service.key, name], { ...options, cwd: project });
    expect(JSON.parse(stdout)).toEqual(expected);
  });

  it.each([
    ['an ECMAScript module', 'esm', 'bundle.mjs'],
    ['CommonJS', 'cjs', 'bundle.cjs'],
  ])('bundled by esbuild as %s', async (name, format, file) => {
    const entry = format === 'cjs' ? 'run.cjs' : 'run.mjs';
    await bundle(entry, `--format=${format}`, '--platform=node', `--outfile=out/${file}`);
    const args = [join('out', file), service.url, service.key, name];
    const { stdout } = await run(process.execPath, args, { ...options, cwd: project });
    expect(JSON.parse(stdout)).toEqual(expected);
  });

  it('in a browser, on a page of another origin', async ({ skip }) => {
    if ((await findChromium()) === undefined) skip('Chromium is not installed');
    await bundle('page.mjs', '--format=iife', '--platform=browser', '--outfile=out/page.js');
    const page = createServer((_request, response) =>
      response.setHeader('content-type', 'text/html').end('<p>page</p>'),
    );
    await new Promise<void>((resolve) => page.listen(0, '127.0.0.1', resolve));
    const browser = await launchBrowser(undefined);
    try {
      const opened = await browser.open(`http://127.0.0.1:${(page.address() as AddressInfo).port}/`);
      await opened.addScriptTag({ path: join(project, 'out/page.js') });
      const target = { baseUrl: service.url, apiKey: service.key, name: 'browser' };
      const report = await opened.evaluate(
        (given) => (globalThis as unknown as { runScenario(target: object): Promise<unknown> }).runScenario(given),
        target,
      );
      expect(report).toEqual(expected);
    } finally {
      await browser.close();
      page.close();
    }
  });
});
