import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { FaultyProxy } from '../../sdk/test/faulty-proxy.ts';
import { runWith } from '../test/run-with.ts';
import { type StubAccount, stubAccount } from '../test/stub-account.ts';
import { withProgressLine } from './progress-line.ts';

// Each command takes seconds, which is what is tested.
vi.setConfig({ testTimeout: 60_000 });

let account: StubAccount;
let proxy: FaultyProxy;
beforeAll(async () => {
  account = await stubAccount();
  proxy = await FaultyProxy.open(account.api.url);
  await account.run('create', '--name', 'build');
  await account.run('snapshot', 'build', '--alias', 'base');
});
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await account[Symbol.asyncDispose]();
});

/** Longer than the delay of the line. */
const slow = { kind: 'slow', ms: 2_500 } as const;

const env = () => ({ ...account.env, MAYFLY_BASE_URL: proxy.url });

test.each([
  [['create'], /^POST \/v1\/sandboxes$/, 'Creating the sandbox …\n'],
  [['snapshot', 'build'], /^POST .*\/snapshots$/, 'Saving the sandbox …\n'],
  [['fork', 'build'], /^POST .*\/fork$/, 'Copying the sandbox …\n'],
  [['rollback', 'build', 'base'], /^POST .*\/rollback$/, 'Putting the sandbox back …\n'],
])('mayfly %j says on a terminal what it does if that takes long', async (args, request, line) => {
  proxy.plan(request, slow);
  expect(await runWith(args, env(), { terminalColumns: 100 })).toMatchObject({ code: 0, stderr: line });
});

test('without a terminal it does not', async () => {
  proxy.plan(/^POST \/v1\/sandboxes$/, slow);
  expect(await runWith(['create'], env())).toMatchObject({ code: 0, stderr: '' });
});

test('what ends before has no line', async () => {
  vi.useFakeTimers();
  try {
    const stderr = { write: () => expect.unreachable('it was quick'), isTTY: true };
    expect(await withProgressLine({ stderr }, 'Working …', async () => 1)).toBe(1);
    await vi.advanceTimersByTimeAsync(60_000);
  } finally {
    vi.useRealTimers();
  }
});
