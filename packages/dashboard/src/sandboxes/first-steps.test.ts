import type { Sandbox } from '@mayfly/contract';
import { expect, test } from 'vitest';
import { firstSteps } from './first-steps.ts';

const sandbox = (status: Sandbox['status']) => ({ id: 'sbx_1', status }) as Sandbox;
const known = { activeKeys: 0, everything: [], hasCommand: false };

test('a new account begins with nothing', () => {
  expect(firstSteps(known)).toEqual({ hasKey: false, sandbox: undefined, hasCommand: false });
});

test('each step is done by what there is', () => {
  expect(firstSteps({ ...known, activeKeys: 1 })).toMatchObject({ hasKey: true });
  const first = sandbox('running');
  expect(firstSteps({ ...known, everything: [first] })).toMatchObject({ sandbox: first, hasCommand: false });
  expect(firstSteps({ ...known, everything: [first], hasCommand: true })).toMatchObject({ hasCommand: true });
});

test('nobody needs the steps who had two sandboxes, or whose first one is over', () => {
  expect(firstSteps({ ...known, everything: [sandbox('running'), sandbox('deleted')] })).toBeUndefined();
  for (const status of ['deleting', 'deleted', 'failed'] as const) {
    expect(firstSteps({ ...known, everything: [sandbox(status)] })).toBeUndefined();
  }
});

test('nothing is shown before it is known', () => {
  expect(firstSteps({ ...known, everything: undefined })).toBeUndefined();
});
