import { Mayfly } from '@mayfly/sdk';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeService } from '../../../test/fake-service.ts';
import type { RunStep } from '../recipe/recipe.ts';
import { type BuildOptions, buildTemplate } from './build.ts';
import { JsonProgress } from './progress.ts';

let service: FakeService;
beforeEach(async () => {
  service = await FakeService.start();
});
afterEach(async () => {
  await service[Symbol.asyncDispose]();
});

interface Event {
  readonly event: string;
  readonly cached?: boolean;
  readonly message?: string;
}

/** Builds a template of the given commands and returns what was reported. Every state is kept unless the options say otherwise. */
async function build(
  commands: readonly string[],
  options: Partial<BuildOptions> = {},
  alias = 'web',
): Promise<Event[]> {
  const events: Event[] = [];
  const stdout = { write: (line: string) => events.push(JSON.parse(line) as Event) };
  const signal = options.signal ?? new AbortController().signal;
  const steps = commands.map(
    (command, at): RunStep => ({
      kind: 'run',
      line: at + 1,
      label: command,
      command,
      cwd: '/workspace',
      env: {},
      timeoutMs: 60_000,
    }),
  );
  await buildTemplate(
    { alias, base: 'small', steps, finish: undefined },
    {
      mayfly: new Mayfly({ env: {}, baseUrl: service.url, apiKey: service.key, retryDelayMs: 1 }),
      progress: new JsonProgress({ stdout }),
      signal,
      useCache: true,
      keepAfterMs: 0,
      lifetimeMinutes: 10,
      nowMs: Date.now,
      ...options,
    },
  );
  return events;
}

const ran = () => service.commands.splice(0).map(({ command }) => command.replace('exec 2>&1\n', ''));
const kept = () => service.snapshots.filter(({ alias }) => alias === null).map(({ history }) => history.length);

test('a build starts from the longest run of unchanged steps', async () => {
  await build(['a', 'b', 'c', 'd']);
  expect(ran()).toEqual(['a', 'b', 'c', 'd']);
  await build(['a', 'b', 'changed', 'd']);
  expect(ran()).toEqual(['changed', 'd']);
  expect(service.template('web')?.history).toHaveLength(4);
});

test('what a failed build did is not repeated by the next', async () => {
  service.onCommand = ({ command }) => ({ exitCode: command.endsWith('c') ? 1 : 0 });
  await expect(build(['a', 'b', 'c'])).rejects.toThrow('The step failed with exit code 1.');
  service.onCommand = () => ({});
  ran();
  await build(['a', 'b', 'c']);
  expect(ran()).toEqual(['c']);
});

test('states that the recipe no longer has are deleted after a build, the states of other templates are not', async () => {
  await build(['x', 'y'], {}, 'other');
  const other = service.snapshots.map(({ id }) => id);
  await build(['a', 'b', 'c']);
  await build(['a', 'z', 'c']);
  const states = service.snapshots.filter(({ id }) => !other.includes(id));
  expect(states.map(({ alias, history }) => [alias, history.map((each) => each.slice(-1)).join('')])).toEqual([
    ['web', 'azc'],
    [null, 'az'],
    [null, 'a'],
  ]);
  expect(service.snapshots).toHaveLength(states.length + other.length);
});

test('steps that take little time are not kept on their own', async () => {
  let nowMs = 0;
  service.onCommand = ({ command }) => {
    nowMs += command.endsWith('slow') ? 3000 : 900;
    return {};
  };
  await build(['a', 'b', 'c', 'slow', 'd', 'e'], { keepAfterMs: 2000, nowMs: () => nowMs });
  // After `c` 2.7 seconds had passed since the base, after `slow` 3 seconds since `c`.
  expect(kept()).toEqual([4, 3]);
});

test('without room for kept states, the build goes on and says so', async () => {
  service.maxSnapshots = 1;
  service.addSnapshot({ name: 'of somebody else' });
  service.onRequest = (_method, path, { alias }) => {
    if (path.endsWith('/snapshots') && alias) service.maxSnapshots = 2;
    return undefined;
  };
  const events = await build(['a', 'b', 'c']);
  expect(events.filter(({ event }) => event === 'note')).toEqual([
    { event: 'note', message: expect.stringContaining('Steps are no longer cached: quota_exceeded.') },
  ]);
  expect(service.template('web')?.history).toHaveLength(3);
});

test('kept states make room for the template itself', async () => {
  service.maxSnapshots = 2;
  await build(['a', 'b', 'c']);
  expect(service.template('web')?.history).toHaveLength(3);
  expect(kept()).toEqual([2]);
  // The replacement needs room for two.
  await build(['a', 'b', 'z']);
  expect(service.template('web')?.history.at(-1)).toContain('z');
});

test('without room for the new template, the old one stays', async () => {
  await build(['a']);
  const old = service.template('web');
  service.maxSnapshots = 1;
  await expect(build(['z'])).rejects.toMatchObject({ type: 'quota_exceeded' });
  expect(service.template('web')).toEqual(old);
  expect(service.leftSandboxes).toEqual([]);
});

test('the old template is deleted only once the new state is saved', async () => {
  await build(['a']);
  let savedBefore = 0;
  service.onRequest = (method, path) => {
    if (method === 'DELETE' && path === `/snapshots/${service.template('web')?.id}`) savedBefore = kept().length;
    return undefined;
  };
  await build(['z']);
  expect(savedBefore).toBe(1);
  expect(kept()).toEqual([]);
});

test('requests whose answer was lost are repeated without doing anything twice', async () => {
  const lost = new Set<string>();
  const serve = service.onRequest;
  service.onRequest = (method, path, body) => {
    const request = `${method} ${path}`;
    if (path.endsWith('/exec') || lost.has(request)) return serve(method, path, body);
    lost.add(request);
    return 'disconnect';
  };
  await build(['a', 'b']);
  expect(service.sandboxes).toMatchObject([{ deleted: true }]);
  expect(service.snapshots.map(({ history }) => history.length)).toEqual([2, 1]);
});

test('rate limits and a full host are waited for', async () => {
  const problems = [
    { status: 429, type: 'rate_limit_exceeded' },
    { status: 503, type: 'capacity_unavailable' },
    { status: 503, type: 'provisioning_failed' },
  ] as const;
  const left = [...problems];
  service.onRequest = (method, path) => (method === 'POST' && path === '/sandboxes' ? left.shift() : undefined);
  await build(['a']);
  expect(left).toEqual([]);
  expect(service.template('web')).toBeDefined();
});

test('an interruption during the create leaves no sandbox', async () => {
  const controller = new AbortController();
  service.onRequest = (method, path) => {
    if (method === 'POST' && path === '/sandboxes') controller.abort(new Error('interrupted'));
    return undefined;
  };
  await expect(build(['a'], { signal: controller.signal })).rejects.toThrow('interrupted');
  expect(service.sandboxes).toMatchObject([{ deleted: true }]);
  expect(service.commands).toEqual([]);
});

test('an interruption while the template is replaced leaves it replaced', async () => {
  await build(['a']);
  const controller = new AbortController();
  service.onRequest = (method, path) => {
    if (method === 'DELETE' && path.startsWith('/snapshots/')) controller.abort(new Error('interrupted'));
    return undefined;
  };
  await build(['z'], { signal: controller.signal });
  expect(service.template('web')?.history.at(-1)).toContain('z');
  expect(service.leftSandboxes).toEqual([]);
});

test('a long alias still has its own states', async () => {
  const alias = 'a'.repeat(100);
  await build(['a', 'b'], {}, alias);
  expect(service.snapshots.map(({ name }) => name?.length)).toEqual([99, 99]);
  ran();
  await build(['a', 'z'], {}, alias);
  expect(ran()).toEqual(['z']);
});

test('a snapshot whose first attempt was interrupted is taken once the service has cleaned up, with the same key', async () => {
  let left = 6;
  service.onRequest = (method, path) => {
    if (method !== 'POST' || !path.endsWith('/snapshots') || left === 0) return undefined;
    left -= 1;
    return { status: 503, type: 'provisioning_failed' };
  };
  await build(['a']);
  expect([left, service.template('web')?.history.length]).toEqual([0, 1]);
  // One of the sandbox, one of the snapshot.
  expect(new Set(service.keys).size).toBe(2);
});

test('a snapshot that is not ready does not count as taken', async () => {
  service.snapshotStatus = 'creating';
  await expect(build(['a'])).rejects.toThrow('is not ready (status: creating). Build again in a minute.');
});

test('a step whose connection is lost for good fails the build, and its sandbox is deleted', async () => {
  service.onCommand = () => {
    service.cutConnections();
    return new Promise(() => {});
  };
  const mayfly = new Mayfly({ env: {}, baseUrl: service.url, apiKey: service.key, retryDelayMs: 1, reconnectMs: 20 });
  await expect(build(['a'], { mayfly })).rejects.toMatchObject({
    exitCode: 3,
    message: expect.stringContaining('The connection to the service was lost during the step'),
  });
  expect(service.leftSandboxes).toEqual([]);
});
