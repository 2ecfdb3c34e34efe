import { chmodSync, chownSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Announcer } from './announce.ts';
import { describeAcceleration, type PrepareOptions, prepare } from './prepare.ts';

it.each([
  ['KVM', 'kvm', undefined, "✓ KVM works: machines run on the host's processor"],
  ['a host without KVM', 'tcg', undefined, 'there is no /dev/kvm'],
  ['KVM that does not work', 'tcg', 'It is broken. Mend it.', 'many times slower: It is broken. Mend it.'],
] as const)('set-up says what machines run on: %s', (_, acceleration, kvmWarning, text) => {
  expect(describeAcceleration({ acceleration, kvmWarning })).toContain(text);
});

/** Set-up by root with a cache that others can change, where it ends: what it printed, and the error. */
async function prepareAsRoot(checkout: string, options: Partial<PrepareOptions> = {}) {
  const cacheDir = worldWritableFolder();
  const lines: string[] = [];
  const announcer: Announcer = { line: (text) => void lines.push(text), step: () => Promise.reject(new Error('step')) };
  vi.spyOn(process, 'getuid').mockReturnValue(0);
  onTestFinished(() => void vi.restoreAllMocks());
  const environment = { cacheDir, binDir: '/nowhere', debianMirror: undefined };
  const { signal } = new AbortController();
  const prepared = prepare({ environment, checkout, purpose: 'service', announcer, signal, ...options });
  const error = await prepared.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  return { lines, error: String(error), refusedCache: `The cache ${cacheDir} is not safe from other users` };
}

it('set-up by root is refused with a cache that others can change', async () => {
  const { lines, error, refusedCache } = await prepareAsRoot('/');
  expect([lines, error]).toEqual([[], expect.stringContaining(refusedCache)]);
});

it('what runs the service as root is refused in a checkout that others can change, and says what to do', async () => {
  const checkout = worldWritableFolder();
  const { error } = await prepareAsRoot(checkout);
  expect(error).toContain(`The checkout ${checkout} is not safe from other users: `);
  expect(error).toContain(`chown -R root:root ${checkout}; chmod -R go-w ${checkout}`);
});

it.each([
  ['tests', { purpose: 'tests' }],
  ['benchmarks', { allowsUntrustedCheckout: true }],
] as const)('%s only warn of such a checkout', async (_, options) => {
  const checkout = worldWritableFolder();
  const { lines, error, refusedCache } = await prepareAsRoot(checkout, options);
  expect(lines).toEqual([expect.stringContaining(`The checkout ${checkout} is not safe from other users`)]);
  expect(error).toContain(refusedCache);
});

it('the checkout of another user is refused, but not that of the user who ran sudo', async () => {
  const checkout = mkdtempSync(join(tmpdir(), 'mayfly-own-'));
  onTestFinished(() => rmSync(checkout, { recursive: true }));
  chmodSync(checkout, 0o775);
  if (process.getuid?.() === 0) chownSync(checkout, 4_000_001, 4_000_001);
  const { uid, gid } = statSync(checkout);
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv('SUDO_UID', undefined);
  vi.stubEnv('SUDO_GID', undefined);
  expect((await prepareAsRoot(checkout)).error).toContain(`belongs to the user with the id ${uid}`);
  vi.stubEnv('SUDO_UID', `${uid}`);
  vi.stubEnv('SUDO_GID', `${gid}`);
  const { lines, error, refusedCache } = await prepareAsRoot(checkout);
  expect([lines, error]).toEqual([[], expect.stringContaining(refusedCache)]);
});

function worldWritableFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-untrusted-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  chmodSync(folder, 0o777);
  return folder;
}
