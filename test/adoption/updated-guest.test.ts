import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import type { Template } from '#server/machines/qemu/template/template.ts';
import { templateFiles } from '#server/machines/qemu/template/template.ts';
import { createSandbox, output } from '../support/api-requests.ts';
import { linkOrCopy } from '../support/link-or-copy.ts';
import { type PreparedHost, preparedHost } from '../support/prepared-host.ts';
import { useServiceProcesses } from '../support/service-process.ts';

const { newData, start } = useServiceProcesses();
const cacheDir = await mkdtemp(join(tmpdir(), 'mayfly-old-guest-'));
afterAll(() => rm(cacheDir, { recursive: true, force: true }));

/** A host with the guest's small template and disk in a place of its own: the guest before an update. */
async function hostBeforeUpdate(): Promise<PreparedHost> {
  const host = preparedHost();
  const { small } = host.templates;
  const folder = join(cacheDir, 'template-small');
  const basePath = join(cacheDir, basename(small.manifest.basePath));
  await chmod(cacheDir, 0o755);
  await mkdir(folder, { mode: 0o755 });
  for (const file of await readdir(small.folder)) await linkOrCopy(join(small.folder, file), join(folder, file));
  await linkOrCopy(small.manifest.basePath, basePath);
  const old: Template = { ...templateFiles(folder), manifest: { ...small.manifest, basePath } };
  return { ...host, templates: { ...host.templates, small: old } };
}

it('a running sandbox keeps its guest when the guest is updated, even after the old one was removed from the cache', async () => {
  const data = await newData();
  const before = await start(data, {}, await hostBeforeUpdate());
  const sandbox = await createSandbox(before);
  await before.kill();
  await rm(cacheDir, { recursive: true });

  const service = await start(data);
  // Nothing has read these files yet, nor started Perl, so they come from the removed disk.
  const read = 'cat /usr/share/doc/[a-g]*/copyright | wc -c; perl -e "print 6*7"';
  const [bytes, answer] = (await output(service, sandbox.id, read)).split('\n');
  expect(Number(bytes)).toBeGreaterThan(100_000);
  expect(answer).toBe('42');
  const next = await createSandbox(service);
  expect(await output(service, next.id, read)).toBe(`${bytes}\n42`);
});
