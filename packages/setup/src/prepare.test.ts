import { expect, it } from 'vitest';
import { describeAcceleration } from './prepare.ts';

it.each([
  ['KVM', 'kvm', undefined, "✓ KVM works: machines run on the host's processor"],
  ['a host without KVM', 'tcg', undefined, 'there is no /dev/kvm'],
  ['KVM that does not work', 'tcg', 'It is broken. Mend it.', 'many times slower: It is broken. Mend it.'],
] as const)('set-up says what machines run on: %s', (_, acceleration, kvmWarning, text) => {
  expect(describeAcceleration({ acceleration, kvmWarning })).toContain(text);
});
