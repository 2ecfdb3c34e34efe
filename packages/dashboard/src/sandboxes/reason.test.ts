import { expect, test } from 'vitest';
import { describeReason } from './reason.ts';

test.each([
  [null, undefined],
  ['expired', 'Its lifetime was over'],
  ['machine_died: killed by SIGKILL', 'Its machine ended: killed by SIGKILL'],
  [
    'provisioning_failed: the guest did not answer: timed out',
    'It could not be created: the guest did not answer: timed out',
  ],
  ['something_new: of a later version', 'something_new: of a later version'],
  ['constructor', 'constructor'],
  ['Not a code', 'Not a code'],
])('%j reads %j', (status_reason, text) => {
  expect(describeReason({ status_reason })).toBe(text);
});
