import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { createClient } from '@hey-api/openapi-ts';
import { defaultLimits, defineOperations } from '@mayfly/contract';
import openapiTS, { astToString } from 'openapi-typescript';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stubService } from '../../test/app/stub-service.ts';

// The published document in the hands of tools that do not know this project.

const run = promisify(execFile);
const modules = join(import.meta.dirname, '../../../../node_modules');
/** Many times what a compiler takes. */
const deadlineMs = 600_000;

let service: Awaited<ReturnType<typeof stubService>>;
let url: string;
/** Holds the document, the generated code and the programs that use it. */
let folder: string;
beforeAll(async () => {
  service = await stubService({}, { MAYFLY_PUBLIC_URL: 'http://127.0.0.1:8080' });
  url = await service.app.listen({ port: 0, host: '127.0.0.1' });
  folder = await mkdtemp(join(tmpdir(), 'mayfly-openapi-'));
  await symlink(modules, join(folder, 'node_modules'));
  await writeFile(join(folder, 'package.json'), '{"type":"commonjs"}');
  await writeFile(join(folder, 'openapi.json'), await (await fetch(`${url}/openapi.json`)).text());
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** Runs a program of node_modules/.bin in the folder and returns its standard output. */
async function tool(name: string, ...args: string[]): Promise<string> {
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const options = { cwd: folder, env, timeout: deadlineMs, maxBuffer: 64 * 1024 ** 2 };
  const { stdout } = await run(process.execPath, [join(modules, '.bin', name), ...args], options);
  return stdout;
}

interface Problem {
  readonly ruleId: string;
  readonly location: readonly { readonly pointer: string }[];
}

/** The operations that a generated client can call: all but those that open a WebSocket. */
const callable = Object.values(defineOperations(defaultLimits)).filter(({ outcomes }) => !('101' in outcomes));

test(
  'redocly lint with the recommended rules has no error and no warning',
  async () => {
    const report = await tool('redocly', 'lint', 'openapi.json', '--extends', 'recommended', '--format', 'json');
    const { totals, problems } = JSON.parse(report) as { totals: object; problems: Problem[] };
    console.log('redocly lint:', totals);
    const found = problems.map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer}`);
    // A WebSocket begins with a 101 and has no 2xx.
    expect(found).toEqual(['operation-2xx-response #/paths/~1sandboxes~1{id}~1pty/get/responses']);
  },
  deadlineMs,
);

/** Calls every operation with its required fields only. Each generator has its own way to write a call. */
const programs = {
  'openapi-typescript': `
    import createClient from 'openapi-fetch';
    import type { paths } from './schema';

    const [, , url = '', key = ''] = process.argv;
    const client = createClient<paths>({ baseUrl: url + '/v1', headers: { authorization: 'Bearer ' + key } });

    async function main(): Promise<void> {
      const created = await client.POST('/sandboxes');
      if (created.data === undefined) throw new Error(created.error.error.message);
      const path = { id: created.data.id };
      const executed = await client.POST('/sandboxes/{id}/exec', { params: { path }, body: { command: 'true' } });
      if (executed.data === undefined) throw new Error(executed.error.error.message);
      const background = { command: 'cat', background: true };
      const started = await client.POST('/sandboxes/{id}/exec', { params: { path }, body: background });
      if (started.data === undefined) throw new Error(started.error.error.message);
      const taken = await client.POST('/sandboxes/{id}/snapshots', { params: { path } });
      if (taken.data === undefined) throw new Error(taken.error.error.message);
      const answers = [
        created,
        executed,
        await client.GET('/sandboxes'),
        await client.GET('/sandboxes/{id}', { params: { path } }),
        await client.POST('/sandboxes/{id}/extend', { params: { path } }),
        await client.GET('/executions/{id}', { params: { path: { id: executed.data.id } } }),
        await client.GET('/executions/{id}/stream', { params: { path: { id: executed.data.id } }, parseAs: 'text' }),
        await client.POST('/executions/{id}/stdin', { params: { path: { id: started.data.id } }, body: { data: 'x' } }),
        await client.POST('/executions/{id}/kill', { params: { path: { id: started.data.id } } }),
        await client.GET('/sandboxes/{id}/stats', { params: { path } }),
        await client.GET('/sandboxes/{id}/stats/stream', { params: { path }, parseAs: 'stream' }),
        await client.GET('/sandboxes/{id}/executions', { params: { path } }),
        await client.PUT('/sandboxes/{id}/files', { params: { path }, body: { path: 'a', content: 'b' } }),
        await client.GET('/sandboxes/{id}/files', { params: { path } }),
        await client.DELETE('/sandboxes/{id}/files', { params: { path, query: { path: 'a' } } }),
        await client.POST('/sandboxes/{id}/ports', { params: { path }, body: { port: 80 } }),
        await client.GET('/sandboxes/{id}/ports', { params: { path } }),
        await client.DELETE('/sandboxes/{id}/ports/{port}', { params: { path: { ...path, port: 80 } } }),
        taken,
        await client.GET('/snapshots'),
        await client.GET('/snapshots/{id}', { params: { path: { id: taken.data.id } } }),
        await client.POST('/sandboxes/{id}/rollback', { params: { path }, body: { snapshot_id: taken.data.id } }),
        await client.POST('/sandboxes/{id}/fork', { params: { path } }),
        await client.DELETE('/snapshots/{id}', { params: { path: { id: taken.data.id } } }),
        await client.GET('/usage'),
        await client.GET('/account'),
        await client.POST('/tickets'),
        await client.DELETE('/sandboxes/{id}', { params: { path } }),
      ];
      console.log(JSON.stringify(answers.map(({ response }) => response.status)));
    }
    void main();
  `,
  '@hey-api/openapi-ts': `
    import { client } from './sdk/client.gen';
    import * as api from './sdk';

    const [, , url = '', key = ''] = process.argv;
    client.setConfig({ baseUrl: url + '/v1', auth: key, throwOnError: true });

    /** A stream is open once its first event has arrived. */
    async function opened({ stream }: { stream: AsyncGenerator<unknown> }): Promise<{ response: { status: number } }> {
      const { done } = await stream.next();
      await stream.return(undefined);
      return { response: { status: done === true ? 0 : 200 } };
    }

    async function main(): Promise<void> {
      const created = await api.createSandbox<true>();
      const path = { id: created.data.id };
      const executed = await api.runCommand<true>({ path, body: { command: 'true' } });
      const started = await api.runCommand<true>({ path, body: { command: 'cat', background: true } });
      const taken = await api.createSnapshot<true>({ path });
      const answers = [
        created,
        executed,
        await api.listSandboxes(),
        await api.getSandbox({ path }),
        await api.extendSandbox({ path }),
        await api.getExecution({ path: { id: executed.data.id } }),
        await opened(await api.streamExecution({ path: { id: executed.data.id } })),
        await api.writeStdin({ path: { id: started.data.id }, body: { data: 'x' } }),
        await api.killExecution({ path: { id: started.data.id } }),
        await api.getStats({ path }),
        await opened(await api.streamStats({ path })),
        await api.listExecutions({ path }),
        await api.writeFile({ path, body: { path: 'a', content: 'b' } }),
        await api.readFile({ path }),
        await api.deleteFile({ path, query: { path: 'a' } }),
        await api.exposePort({ path, body: { port: 80 } }),
        await api.listPorts({ path }),
        await api.closePort({ path: { ...path, port: 80 } }),
        taken,
        await api.listSnapshots(),
        await api.getSnapshot({ path: { id: taken.data.id } }),
        await api.rollbackSandbox({ path, body: { snapshot_id: taken.data.id } }),
        await api.forkSandbox({ path }),
        await api.deleteSnapshot({ path: { id: taken.data.id } }),
        await api.getUsage(),
        await api.getAccount(),
        await api.createTicket(),
        await api.deleteSandbox({ path }),
      ];
      console.log(JSON.stringify(answers.map(({ response }) => response?.status)));
    }
    void main();
  `,
};

const generators = Object.keys(programs) as readonly (keyof typeof programs)[];
const fileName = (generator: string) => generator.replaceAll(/\W/g, '-');

async function generateClients(): Promise<void> {
  const input = join(folder, 'openapi.json');
  await writeFile(join(folder, 'schema.ts'), astToString(await openapiTS(pathToFileURL(input))));
  await createClient({
    input,
    output: { path: join(folder, 'sdk') },
    logs: { level: 'silent', file: false },
    plugins: ['@hey-api/typescript', '@hey-api/sdk', '@hey-api/client-fetch'],
  });
}

/** Returns what the compiler complains about. */
async function compile(files: readonly string[]): Promise<string> {
  const compilerOptions = {
    ...{ strict: true, module: 'nodenext', target: 'es2023', lib: ['es2023', 'dom', 'dom.iterable'] },
    ...{ types: ['node'], skipLibCheck: true, rootDir: '.', outDir: 'compiled' },
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  return await tool('tsc', '-p', '.').catch(({ stdout }: { stdout: string }) => stdout);
}

describe('clients generated by two independent generators', () => {
  test(
    'compile in strict mode with the required fields only',
    async () => {
      await generateClients();
      for (const generator of generators) {
        await writeFile(join(folder, `${fileName(generator)}.ts`), programs[generator]);
      }
      expect(await compile(generators.map((generator) => `${fileName(generator)}.ts`))).toBe('');
    },
    deadlineMs,
  );

  test.each(generators)(
    'call every operation: %s',
    async (generator) => {
      const program = join(folder, 'compiled', `${fileName(generator)}.js`);
      const { stdout } = await run(process.execPath, [program, url, service.key], { timeout: deadlineMs });
      console.log(`${generator}: ${stdout.trim()}`);
      const statuses = JSON.parse(stdout) as number[];
      expect(statuses).toHaveLength(callable.length);
      expect(statuses.filter((status) => status !== 200 && status !== 201)).toEqual([]);
    },
    deadlineMs,
  );
});
