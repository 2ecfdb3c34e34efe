import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeService } from '../../test/fake-service.ts';
import { mayflyInProcess, mayflyPath } from '../../test/mayfly.ts';

let folder: string;
let service: FakeService;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-recipe-'));
  service = await FakeService.start();
});
afterEach(async () => {
  await service[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

function write(name: string, content: string): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

const environment = () => ({ MAYFLY_BASE_URL: service.url, MAYFLY_API_KEY: service.key });

function build(file: string, ...options: string[]) {
  return mayflyInProcess(['template', 'build', file, ...options], environment());
}

/** The commands of steps, without what every command begins with. */
function ranSteps(): string[] {
  return service.commands.map(({ command }) => command.replace(/^exec 2>&1\n(set -e\n)?/, ''));
}

const simple = `alias: web
steps:
  - npm install
  - npm run build
`;

test('a template is built from a recipe and saved under its alias', async () => {
  const result = await build(write('web.yaml', simple));
  // Only the result is on stdout.
  expect(result).toMatchObject({ code: 0, stdout: `${service.template('web')?.id}\n` });
  expect(result.stderr).toContain('Building web from small in 2 steps.\n[1/2] npm install: ');
  expect(result.stderr).toContain('Template web was built in ');
  expect(ranSteps()).toEqual(['npm install', 'npm run build']);
  expect(service.template('web')?.history).toHaveLength(2);
  expect(service.leftSandboxes).toEqual([]);
});

test('a second build of the same recipe runs nothing', async () => {
  const file = write('web.yaml', simple);
  await build(file);
  const first = service.template('web');
  service.commands.length = 0;
  const { code, stdout, stderr } = await build(file);
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${first?.id}\n` });
  expect(stderr).toContain('[1/2] npm install: cached\n[2/2] npm run build: cached\nTemplate web is up to date');
  expect(service.commands).toEqual([]);
  expect(service.template('web')).toEqual(first);
  expect(service.sandboxes).toHaveLength(1);
});

test('--no-cache repeats all steps and replaces the template', async () => {
  const file = write('web.yaml', simple);
  await build(file);
  const first = service.template('web');
  expect(await build(file, '--no-cache')).toMatchObject({ code: 0 });
  expect(ranSteps()).toHaveLength(4);
  expect(service.template('web')?.id).not.toBe(first?.id);
  expect(service.snapshots.filter(({ alias }) => alias !== null)).toHaveLength(1);
});

test('a recipe that goes on from the last build repeats nothing of it', async () => {
  await build(write('web.yaml', simple));
  service.commands.length = 0;
  expect(await build(write('web.yaml', `${simple}  - npm test\n`))).toMatchObject({ code: 0 });
  expect(ranSteps()).toEqual(['npm test']);
  expect(service.template('web')?.history).toHaveLength(3);
  // The state before the new step is still there for the next change.
  service.commands.length = 0;
  await build(write('web.yaml', `${simple}  - npm run lint\n`));
  expect(ranSteps()).toEqual(['npm run lint']);
});

test('a template that could not be built again is still there', async () => {
  await build(write('web.yaml', simple));
  const first = service.template('web');
  service.onCommand = () => ({ exitCode: 7, stdout: `${'line\n'.repeat(150)}no such \u001bpackage\n` });
  const { code, stdout, stderr } = await build(write('web.yaml', 'alias: web\nsteps: [npm ci]\n'));
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('[1/1] npm ci: failed with exit code 7\n');
  expect(stderr).toContain('  no such ?package\n');
  expect(stderr.match(/ {2}line\n/g)).toHaveLength(99);
  expect(stderr).toContain('The step failed with exit code 7.');
  expect(service.template('web')).toEqual(first);
  expect(service.leftSandboxes).toEqual([]);
});

test('a step that takes too long fails and says so', async () => {
  service.onCommand = () => ({ exitCode: 124, status: 'timeout' });
  const { code, stderr } = await build(write('web.yaml', 'alias: web\nsteps: [{run: sleep 9, timeout_seconds: 5}]\n'));
  expect(code).toBe(1);
  expect(stderr).toContain('did not finish within 5 seconds');
  expect(service.commands[0]?.timeout_ms).toBe(5000);
});

test('if the new template cannot be saved under the alias, its state is kept and the next build finishes it', async () => {
  await build(write('web.yaml', simple));
  const file = write('web.yaml', 'alias: web\nsteps: [npm ci]\n');
  service.onRequest = (method, path, { alias }) =>
    method === 'POST' && path.endsWith('/snapshots') && alias
      ? { status: 402, type: 'insufficient_credits' }
      : undefined;
  const failed = await build(file);
  expect(failed.code).toBe(3);
  expect(failed.stderr).toMatch(/Its state is kept as snap_\d+: build again to finish/);
  service.onRequest = () => undefined;
  service.commands.length = 0;
  expect(await build(file)).toMatchObject({ code: 0 });
  expect(service.commands).toEqual([]);
  expect(service.snapshots).toMatchObject([{ alias: 'web' }]);
});

test('a snapshot that was saved under the alias by hand is not replaced', async () => {
  const mine = service.addSnapshot({ alias: 'web', name: 'precious' });
  const { code, stderr } = await build(write('web.yaml', simple));
  expect(code).toBe(2);
  expect(stderr).toContain(`The alias web belongs to the snapshot ${mine.id}`);
  expect(service.sandboxes).toEqual([]);
});

test('a base can be another template, and an unknown one is an error', async () => {
  const file = write('web.yaml', `${simple}base: node-tools\n`);
  expect(await build(file)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('The base node-tools is neither'),
  });
  service.addSnapshot({ alias: 'node-tools', history: ['tools'] });
  expect(await build(file)).toMatchObject({ code: 0 });
  expect(service.template('web')?.history[0]).toBe('tools');
  // A new version of the base is a reason to build again.
  service.snapshots = service.snapshots.filter(({ alias }) => alias !== 'node-tools');
  service.addSnapshot({ alias: 'node-tools', history: ['newer tools'] });
  expect(await build(file)).toMatchObject({ code: 0 });
  expect(service.template('web')?.history[0]).toBe('newer tools');
});

describe('files', () => {
  const recipe = 'alias: web\nfiles: [{from: app, to: app}]\nsteps: [npm install]\n';

  test('a changed content, mode or link is copied again; anything else is not', async () => {
    const file = write('web.yaml', recipe);
    write('app/main.js', 'one');
    write('other.txt', 'not copied');
    symlinkSync('main.js', join(folder, 'app/index.js'));
    const isRepeated = async () => {
      service.commands.length = 0;
      expect(await build(file)).toMatchObject({ code: 0 });
      return service.commands.length > 0;
    };
    expect(await isRepeated()).toBe(true);
    expect(await isRepeated()).toBe(false);
    write('other.txt', 'still not copied');
    expect(await isRepeated()).toBe(false);
    write('app/main.js', 'two');
    expect(await isRepeated()).toBe(true);
    chmodSync(join(folder, 'app/main.js'), 0o755);
    expect(await isRepeated()).toBe(true);
    rmSync(join(folder, 'app/index.js'));
    symlinkSync('./main.js', join(folder, 'app/index.js'));
    expect(await isRepeated()).toBe(true);
  });

  test.each([
    ['../secret', 'leads out of the folder of the recipe'],
    ['a/../../secret', 'leads out of the folder of the recipe'],
    ['/etc/passwd', 'must be relative to the folder of the recipe'],
    ['out', 'out is a link that leads out of the folder of the recipe'],
    ['tree', 'tree/hosts is a link to /etc/hosts, which is outside the folder of the recipe'],
    ['missing', 'missing cannot be read: it does not exist'],
  ])('%s is refused before anything runs', async (from, message) => {
    symlinkSync('/etc', join(folder, 'out'));
    mkdirSync(join(folder, 'tree'));
    symlinkSync('/etc/hosts', join(folder, 'tree/hosts'));
    const file = write('web.yaml', `alias: web\nsteps: []\nfiles:\n  - {from: ${from}, to: x}\n`);
    const { code, stderr } = await build(file);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
    expect(stderr).toContain(`${file}:4: from `);
    expect(service.requests).toEqual([]);
  });
});

describe('start and ready', () => {
  const recipe = 'alias: web\nenv: {PORT: 3000}\nstart: npm start\nready: {port: 3000, timeout_seconds: 90}\n';

  test('the command is started and its port is awaited before the result is saved', async () => {
    const { code, stderr } = await build(write('web.yaml', recipe));
    expect(code).toBe(0);
    expect(stderr).toContain('[1/1] start npm start until port 3000 listens: ');
    expect(service.commands).toMatchObject([
      { command: expect.stringContaining('npm start'), env: { PORT: '3000' } },
      { command: expect.stringContaining(':0BB8 ') },
    ]);
    expect(service.template('web')?.history).toHaveLength(2);
  });

  test('if it never gets ready, nothing is saved and its output is shown', async () => {
    service.onCommand = ({ command }) =>
      command.includes('0BB8') ? { exitCode: 75, stdout: 'Error: no database\n' } : {};
    const { code, stderr } = await build(write('web.yaml', recipe));
    expect(code).toBe(1);
    expect(stderr).toContain('  Error: no database\n');
    expect(stderr).toContain('The sandbox was not ready within 90 seconds: nothing listens on port 3000.');
    // One round of 50 seconds and one of 40.
    expect(service.commands).toHaveLength(3);
    expect(service.snapshots).toEqual([]);
    expect(service.leftSandboxes).toEqual([]);
  });
});

test('a Dockerfile is built with the alias and the start command of the command line', async () => {
  write('app/main.js', 'x');
  write('app/notes.md', 'x');
  write('.dockerignore', '*.md\n**/*.md\n');
  const dockerfile = write(
    'Dockerfile',
    'FROM mayfly:small\nWORKDIR app\nCOPY app/* ./\nENV PORT=3000\nRUN npm install\n',
  );
  const args = ['--alias', 'web', '--start', 'node main.js', '--ready-command', 'curl -fsS localhost:3000', '--json'];
  const { code, stdout } = await build(dockerfile, ...args);
  expect(code).toBe(0);
  const events = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { event: string; label?: string; snapshot?: { alias: string } });
  expect(events[0]).toEqual({ event: 'build_started', alias: 'web', base: 'small', total: 4 });
  expect(events.filter(({ event }) => event === 'step_finished').map(({ label }) => label)).toEqual([
    'WORKDIR app',
    'COPY app/* ./',
    'RUN npm install',
    'start node main.js until `curl -fsS localhost:3000` succeeds',
  ]);
  expect(events.at(-1)).toMatchObject({ event: 'build_finished', cached: false, snapshot: { alias: 'web' } });
  expect(service.commands.at(-1)).toMatchObject({ cwd: '/workspace/app', env: { PORT: '3000' } });
});

describe('mistakes', () => {
  test('all mistakes of a recipe are listed, and nothing is run', async () => {
    const file = write('web.yaml', 'alias: Web\nstep: [ls]\nready:\n  port: 70000\n');
    const { code, stdout, stderr } = await build(file);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr.split('\n')).toEqual([
      expect.stringContaining(`${file}:1: alias must be 1 to 100 of the characters`),
      `${file}:4: ready.port must be an integer from 1 to 65535`,
      `${file}:2: step is not a field of a recipe here`,
      `error: ${file} cannot be built as it is written. Nothing was run.`,
      '',
    ]);
    expect(service.requests).toEqual([]);
  });

  test.each([
    [['web.yaml', '--timeout', '0'], '--timeout must be an integer from 1 to 1440'],
    [['web.yaml', '--url', 'ftp://x'], 'must begin with http:// or https://'],
    [['web.yaml', '--alias', 'small'], '--alias must not be the name of a size'],
    [['web.yaml', '--start', 'x'], 'are for a Dockerfile'],
    [['missing.yaml'], 'could not be read'],
  ])('%j is refused', async ([name = '', ...options], message) => {
    write('web.yaml', simple);
    const { code, stderr } = await build(join(folder, name), ...options);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
  });

  test('a missing key is explained', async () => {
    const { code, stderr } = await mayflyInProcess(['template', 'build', write('web.yaml', simple)], {});
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('Set MAYFLY_API_KEY') });
  });
});

test('errors of the service end the build with exit code 3', async () => {
  const file = write('web.yaml', simple);
  const wrongKey = { ...environment(), MAYFLY_API_KEY: 'wrong' };
  expect(await mayflyInProcess(['template', 'build', file], wrongKey)).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('(invalid_api_key, request req_1)'),
  });
  service.onRequest = (_method, path) =>
    path.endsWith('/exec') ? { status: 502, type: 'execution_failed', message: 'The connection was lost.' } : undefined;
  expect(await build(file)).toMatchObject({ code: 3, stderr: expect.stringContaining('The connection was lost.') });
  // A command may have run, so it is not sent again.
  expect(service.requests.filter((request) => request.endsWith('/exec'))).toHaveLength(1);
  expect(service.leftSandboxes).toEqual([]);
});

test('there is no option for a key, and the service is found as by other commands', async () => {
  const file = write('web.yaml', simple);
  expect(await build(file, '--key', service.key)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("unknown option '--key'"),
  });
  write(
    '.config/mayfly/config.json',
    JSON.stringify({ profiles: { work: { url: service.url, api_key: service.key } } }),
  );
  const env = {
    HOME: folder,
    MAYFLY_PROFILE: 'work',
    MAYFLY_BASE_URL: 'http://127.0.0.1:1',
    MAYFLY_API_KEY: 'mf_other',
  };
  expect(await mayflyInProcess(['template', 'build', file], env)).toMatchObject({ code: 0 });
});

test('Ctrl-C ends the build with exit code 130 and deletes its sandbox', async () => {
  const commandArrived = Promise.withResolvers<void>();
  service.onCommand = () => {
    commandArrived.resolve();
    return new Promise(() => {});
  };
  const child = spawn(process.execPath, [mayflyPath, 'template', 'build', write('web.yaml', simple)], {
    env: { ...process.env, ...environment() },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  const stderr = text(child.stderr);
  child.stdout.resume();
  await commandArrived.promise;
  child.kill('SIGINT');
  expect((await ended)[0]).toBe(130);
  expect(await stderr).toContain('The build was interrupted.');
  expect(service.sandboxes).toMatchObject([{ deleted: true }]);
  expect(service.snapshots).toEqual([]);
});
