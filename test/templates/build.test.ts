import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mayfly } from '#cli-test/mayfly.ts';
import { createSandbox, deleteSandbox, output } from '../support/api-requests.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

/** Tells everyone who connects how many have done so. A server of Python's library takes an emulated machine seconds to start. */
const server = `
import socket
visits = 0
listener = socket.create_server(("127.0.0.1", 3000))
while True:
    connection, _ = listener.accept()
    visits += 1
    with connection, open("greeting") as greeting:
        connection.sendall(f"{greeting.read()} {visits}\\n".encode())
`;
const start = 'python3 -S -E server.py';
const visit = 'read -r shown < /dev/tcp/127.0.0.1/3000';

const yamlRecipe = `
alias: from-yaml
workdir: app
env: { GREETING: hello from yaml }
files:
  - { from: server.py, to: server.py }
  - { from: tool.sh, to: bin/tool, mode: 0755 }
steps:
  - printf %s "$GREETING" > greeting
  - run: sleep 2.1; touch slow
    timeout_seconds: 60
start: ${start}
ready: { port: 3000, timeout_seconds: 300 }
`;

const dockerfile = `
# Comments are ignored.
FROM small
WORKDIR app
COPY *.py ./
COPY --chmod=755 tool.sh bin/tool
ENV GREETING="hello from docker"
RUN printf %s "$GREETING" \\
    > greeting
`;

let service: TestService;
let folder: string;
beforeAll(async () => {
  service = await startTestService();
  folder = mkdtempSync(join(tmpdir(), 'mayfly-templates-'));
  writeFileSync(join(folder, 'server.py'), server);
  writeFileSync(join(folder, 'tool.sh'), '#!/bin/sh\necho "run by $(whoami)"\n');
  writeFileSync(join(folder, 'recipe.yaml'), yamlRecipe);
  writeFileSync(join(folder, 'Dockerfile'), dockerfile);
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await service.stop();
});

interface Event {
  readonly event: string;
  readonly cached?: boolean;
  readonly snapshot?: { readonly id: string; readonly alias: string };
}

/** Builds a template as a user does, and returns what the command printed. */
async function build(args: readonly string[]): Promise<Event[]> {
  const environment = { MAYFLY_BASE_URL: service.url, MAYFLY_API_KEY: service.key };
  const { code, stdout, stderr } = await mayfly(['template', 'build', '--json', ...args], environment);
  expect({ code, stderr, stdout }).toMatchObject({ code: 0, stderr: '' });
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Event);
}

describe.each([
  ['YAML', 'from-yaml', 'hello from yaml', ['recipe.yaml']],
  [
    'Dockerfile',
    'from-docker',
    'hello from docker',
    ['Dockerfile', '--alias', 'from-docker', '--start', start, '--ready-command', visit],
  ],
] as const)('a template from a %s', (_format, alias, greeting, [file, ...options]) => {
  const buildIt = () => build([join(folder, file), ...options]);
  let id: string | undefined;

  it('is built, and the sandbox of the build is deleted', async () => {
    const result = (await buildIt()).at(-1);
    expect(result).toMatchObject({ event: 'build_finished', cached: false, snapshot: { alias } });
    id = result?.snapshot?.id;
    await expect.poll(() => service.machineProcesses()).toEqual([]);
  });

  it('gives every copy the files and the running server', async () => {
    const copies = await Promise.all([
      createSandbox(service, { template: alias }),
      createSandbox(service, { template: alias }),
    ]);
    const visits = await Promise.all(
      copies.map(async (copy) => {
        const [tool, shown] = (await output(service, copy.id, `app/bin/tool && ${visit} && echo "$shown"`)).split('\n');
        expect(tool).toBe('run by sandbox');
        return shown;
      }),
    );
    // The counter in memory is each copy's own.
    expect(visits[0]).toMatch(new RegExp(`^${greeting} \\d+$`));
    expect(visits[1]).toBe(visits[0]);
    for (const copy of copies) await deleteSandbox(service, copy.id);
  });

  it('is not built again as long as nothing changes', async () => {
    const events = await buildIt();
    const steps = events.filter(({ event }) => event === 'step_finished');
    expect(steps.length).toBeGreaterThan(0);
    expect(steps.filter(({ cached }) => !cached)).toEqual([]);
    expect(events.at(-1)).toMatchObject({ event: 'build_finished', cached: true, snapshot: { id } });
  });
});

it('only the changed end of a recipe is repeated, and the alias then leads to the new state', async () => {
  const longer = yamlRecipe.replace('start:', '  - echo more >> greeting\nstart:');
  writeFileSync(join(folder, 'recipe.yaml'), longer);
  const events = await build([join(folder, 'recipe.yaml')]);
  const cached = events.filter(({ event }) => event === 'step_finished').map((step) => step.cached);
  // The slow step was kept, so everything up to it is reused.
  expect(cached).toEqual([true, true, true, true, true, false, false]);
  const copy = await createSandbox(service, { template: 'from-yaml' });
  expect(await output(service, copy.id, 'cat app/greeting')).toBe('hello from yamlmore');
  await deleteSandbox(service, copy.id);
});
