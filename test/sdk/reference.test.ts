import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { defaultLimits, defineOperations, type OpenApiDocument } from '@mayfly/contract';
import { Mayfly, type Sandbox, type Snapshot } from '@mayfly/sdk';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { projectRoot } from '#setup/environment.ts';
import { startTestService, type TestService } from '../support/test-service.ts';
import { RecordingProxy } from './recording-proxy.ts';

let service: TestService;
let proxy: RecordingProxy;
/** A project in which `@mayfly/sdk` can be imported. */
let project: string;
/** The document that the service publishes. */
let document: OpenApiDocument;
let mayfly: Mayfly;
/** The sandbox of all samples that leave it running. */
let sandbox: Sandbox;
beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'mayfly-reference-'));
  await symlink(join(projectRoot, 'node_modules'), join(project, 'node_modules'));
  await writeFile(join(project, 'package.json'), '{"type":"module"}');
  service = await startTestService();
  proxy = await RecordingProxy.open(service.url);
  document = (await (await fetch(`${service.url}/openapi.json`)).json()) as OpenApiDocument;
  mayfly = new Mayfly({ baseUrl: service.url, apiKey: service.key });
  sandbox = await mayfly.sandboxes.create();
});
afterAll(async () => {
  await proxy.close();
  await service.stop();
  await rm(project, { recursive: true, force: true });
});
beforeEach(() => {
  proxy.requests.length = 0;
});
afterEach(async () => {
  for await (const { id } of mayfly.sandboxes.list()) if (id !== sandbox.id) await mayfly.sandboxes.delete(id);
});

/** Real ids in the place of those in the samples, by their prefix. */
interface Ids {
  readonly sbx?: string;
  readonly exec?: string;
  readonly snap?: string;
}

const another = async (): Promise<Ids> => ({ sbx: (await mayfly.sandboxes.create()).id });
const started = (command: string) => async (): Promise<Ids> => ({ exec: (await sandbox.spawn(command)).id });
const ended = async (): Promise<Ids> => ({ sbx: sandbox.id, exec: (await sandbox.exec('echo done')).id });
const shared = async (): Promise<Ids> => ({ sbx: sandbox.id });
const withFile = async (): Promise<Ids> => {
  await sandbox.files.write('notes.txt', 'hello\n');
  return { sbx: sandbox.id };
};
const withPort = async (): Promise<Ids> => {
  await sandbox.ports.open(3000);
  return { sbx: sandbox.id };
};
/** Taken once, until a sample deletes it. */
let snapshot: Snapshot | undefined;
const saved = async (): Promise<Ids> => {
  snapshot ??= await sandbox.snapshot();
  return { sbx: sandbox.id, snap: snapshot.id };
};
const lastSaved = async (): Promise<Ids> => {
  const ids = await saved();
  snapshot = undefined;
  return ids;
};

/** What samples need besides the shared sandbox. */
const preparations: Readonly<Record<string, () => Promise<Ids>>> = {
  deleteSandbox: another,
  rollbackSandbox: saved,
  streamStats: another,
  getExecution: ended,
  streamExecution: ended,
  writeStdin: started('head -n 1'),
  killExecution: started('sleep 600'),
  listExecutions: ended,
  readFile: withFile,
  deleteFile: withFile,
  listPorts: withPort,
  closePort: withPort,
  listSnapshots: saved,
  getSnapshot: saved,
  deleteSnapshot: lastSaved,
};

/** Runs a program of which the client goes through the proxy. Returns what it printed. */
async function run(name: string, source: string, onPrinted?: () => Promise<unknown>): Promise<string> {
  const file = join(project, `${name}.ts`);
  await writeFile(file, source);
  const env = { ...process.env, MAYFLY_BASE_URL: proxy.url, MAYFLY_API_KEY: service.key };
  const running = promisify(execFile)(process.execPath, [file], { env, timeout: 500_000 });
  const reaction = new Promise((resolve, reject) => {
    running.child.stdout?.once('data', () => resolve(undefined));
    running.child.once('exit', resolve);
    running.child.once('error', reject);
  }).then(onPrinted);
  const [{ stdout, stderr }] = await Promise.all([running, reaction]);
  expect(stderr).toBe('');
  return stdout;
}

const prelude = "import { Mayfly } from '@mayfly/sdk';\n\nconst mayfly = new Mayfly();\n";

it.each(Object.values(defineOperations(defaultLimits)))(
  'the sample of $id runs and makes the request $method $path',
  async ({ id, method, path }) => {
    const samples = document.paths[path]?.[method.toLowerCase()]?.['x-codeSamples'];
    const sample = samples?.find(({ lang }) => lang === 'TypeScript')?.source ?? '';
    const ids = await (preparations[id] ?? shared)();
    const source = sample.replaceAll(/\b(sbx|exec|snap)_\w+/g, (_, kind: keyof Ids) => ids[kind] ?? 'none');
    // Measurements go on until their sandbox ends.
    const end = id === 'streamStats' ? () => mayfly.sandboxes.delete(ids.sbx ?? '') : undefined;
    const printed = await run(id, prelude + source, end);
    if (source.includes('console.log') || source.includes('stdout.write')) expect(printed).not.toBe('');
    expect(proxy.requests.filter(({ status }) => status >= 400)).toEqual([]);
    const made = new RegExp(`^${method} /v1${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
    expect(proxy.requests.map((request) => `${request.method} ${request.path}`)).toContainEqual(
      expect.stringMatching(made),
    );
  },
);

it('the quick start runs, and leaves no sandbox', async () => {
  const [quickStart = ''] = document.info.description.split('\n## Authentication');
  const steps = Array.from(quickStart.matchAll(/```typescript\n(.*?)```/gs), ([, code = '']) => code);
  expect(steps.length).toBe(3);
  const printed = await run('quick-start', steps.join('').replace(service.url, proxy.url));
  expect(printed).toMatch(/^Linux /);
  expect((await mayfly.sandboxes.list().all()).map(({ id }) => id)).toEqual([sandbox.id]);
});
