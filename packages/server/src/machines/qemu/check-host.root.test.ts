import { expect, it } from 'vitest';
import { checkCgroupSupport } from './check-host.ts';

it('accepts the host that runs these tests', async () => {
  expect(await checkCgroupSupport()).toEqual([]);
});
