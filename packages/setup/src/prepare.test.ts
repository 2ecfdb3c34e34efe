import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Announcer } from './announce.ts';
import { describeAcceleration, prepare } from './prepare.ts';

it.each([
  ['KVM', 'kvm', undefined, "✓ KVM works: machines run on the host's processor"],
  ['a host without KVM', 'tcg', undefined, 'there is no /dev/kvm'],
  ['KVM that does not work', 'tcg', 'It is broken. Mend it.', 'many times slower: It is broken. Mend it.'],
] as const)('set-up says what machines run on: %s', (_, acceleration, kvmWarning, text) => {
  expect(describeAcceleration({ acceleration, kvmWarning })).toContain(text);
});

it('set-up by root warns of a checkout that others can change, and is refused with such a cache', async () => {
  const checkout = worldWritableFolder();
  const cacheDir = worldWritableFolder();
  const lines: string[] = [];
  const announcer: Announcer = { line: (text) => void lines.push(text), step: () => Promise.reject(new Error('step')) };
  vi.spyOn(process, 'getuid').mockReturnValue(0);
  onTestFinished(() => void vi.restoreAllMocks());
  const environment = { cacheDir, binDir: '/nowhere', debianMirror: undefined };
  const { signal } = new AbortController();
  await expect(prepare({ environment, checkout, purpose: 'service', announcer, signal })).rejects.toThrow(
    `The cache ${cacheDir} is not safe from other users`,
  );
  expect(lines).toEqual([expect.stringContaining(`The checkout ${checkout} is not safe from other users`)]);
});

function worldWritableFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-untrusted-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  chmodSync(folder, 0o777);
  return folder;
}
