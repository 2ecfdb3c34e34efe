import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { runProgram } from '#server/system/run-program.ts';
import { call, createSandbox, deleteSandbox, output, type Target } from '../support/api-requests.ts';
import { leftovers } from '../support/chaos/held-resources.ts';
import { length } from '../support/length.ts';
import { linkOrCopy } from '../support/link-or-copy.ts';
import { type PreparedHost, preparedHost } from '../support/prepared-host.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { newServiceData, unlimitedRates } from '../support/service-settings.ts';
import { deleteSnapshot, type SnapshotBody, takeSnapshot } from '../support/snapshots.ts';

/** More rounds than a chain has layers before it is flattened. */
const rounds = length(10, 50);

/** At full length, the writer writes larger files and as fast as it can. */
const varyingBytes = length(8_192, 65_536);
const pauseSeconds = length(0.2, 0);

/** Starts the writer, which goes on in every copy. It says something once there is a file. */
const startWriter = `read -r said < <(exec setsid python3 -S -E writer.py tree ${varyingBytes} ${pauseSeconds} 2>writer.log </dev/null)`;

/**
 * Checks every file that was written so far, while the writer stands still, and prints how many there are. Then lets the writer go on and
 * waits until there is one more, so that the next snapshot has something new.
 */
const checkAndGoOn = `set -e
shopt -s nullglob
cd tree
pkill -STOP -x python3
names=([0-9a-f]*)
for name in "\${names[@]}"; do echo "$name  $name"; done | sha256sum --check --quiet
pkill -CONT -x python3
found=\${#names[@]}
until names=([0-9a-f]*); [ "\${#names[@]}" -gt "$found" ]; do sleep 0.2; done
echo "$found"`;

async function copyWriter(target: Target, id: string): Promise<void> {
  const content = await readFile(join(import.meta.dirname, 'guest/writer.py'), 'utf8');
  expect((await call(target, 'PUT', `/sandboxes/${id}/files`, { path: 'writer.py', content })).status).toBe(201);
}

/** A template of size small of its own, as a set-up on an empty cache would build it: the same bytes in another place. */
async function rebuiltTemplate(host: PreparedHost, folder: string): Promise<PreparedHost> {
  const { small } = host.templates;
  const name = basename(await mkdtemp(join(folder, 'template-')));
  const copy = join(folder, name);
  const basePath = join(copy, 'base.raw');
  for (const file of await readdir(small.folder)) await linkOrCopy(join(small.folder, file), join(copy, file));
  await linkOrCopy(small.manifest.basePath, basePath);
  const inCopy = (path: string) => join(copy, basename(path));
  return {
    ...host,
    templates: {
      ...host.templates,
      small: {
        ...small,
        folder: copy,
        ramPath: inCopy(small.ramPath),
        statePath: inCopy(small.statePath),
        diskPath: inCopy(small.diskPath),
        emptyLayerPath: inCopy(small.emptyLayerPath),
        manifest: { ...small.manifest, basePath },
      },
    },
  };
}

/** Replaces a file by one of zeros: a copy that used it instead of its own would not work. The cache may have the same file, which stays. */
async function replaceByZeros(path: string): Promise<void> {
  const { size, mode } = await stat(path);
  await rm(path);
  await writeFile(path, '', { mode, flag: 'wx' });
  await truncate(path, size);
}

/** Checks the file system of a snapshot's disk, as it was at the instant, with e2fsck on a copy. */
async function checkFileSystem(dataDir: string, snapshotId: string, folder: string) {
  const source = join(dataDir, 'snapshots', snapshotId);
  const layers = (await readdir(source)).filter((name) => name.startsWith('disk.')).toSorted(byNumber);
  const chain = layers.reduce<object | undefined>((backing, name, index) => {
    const file = { driver: 'file', filename: join(source, name), locking: 'off' };
    return index === 0 ? { driver: 'raw', file } : { driver: 'qcow2', file, backing };
  }, undefined);
  const image = join(folder, 'disk.raw');
  await runProgram('qemu-img', ['convert', '-O', 'raw', `json:${JSON.stringify(chain)}`, image], {
    deadlineMs: 600_000,
  });
  // What is in the journal is replayed, as every mount does. After that nothing may be wrong.
  await runProgram('e2fsck', ['-p', '-E', 'journal_only', image], { deadlineMs: 300_000 }).catch(() => {});
  const report = await runProgram('e2fsck', ['-f', '-n', image], { deadlineMs: 600_000 });
  const listed = await runProgram('debugfs', ['-R', 'ls -p /workspace/tree', image], { deadlineMs: 60_000 });
  await rm(image);
  const files = listed.split('\n').filter((line) => /\/[0-9a-f]{64}\//.test(line)).length;
  return { files, report: report.trim().split('\n').at(-1) ?? '' };
}

function byNumber(a: string, b: string): number {
  return Number(a.split('.')[1]) - Number(b.split('.')[1]);
}

it('a tree that is being written is consistent in every copy, through rounds of snapshot, copy and change, another template and an empty cache', async () => {
  const data = await newServiceData();
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-templates-'));
  const first = await rebuiltTemplate(preparedHost(), folder);
  const settings = { ...unlimitedRates, MAYFLY_POOL: 'none' };
  let service = await startServiceProcess(data, settings, first);
  onTestFinished(async () => {
    await service.destroy();
    expect(await leftovers(data.dataDir)).toEqual([]);
    await data.remove();
    await rm(folder, { recursive: true, force: true });
  });

  let sandbox = (await createSandbox(service, { timeout_minutes: 600 })).id;
  await copyWriter(service, sandbox);
  await output(service, sandbox, startWriter, 300_000);
  const kept: SnapshotBody[] = [];
  let files = 0;
  let filesBefore = 0;
  for (let round = 1; round <= rounds; round += 1) {
    // The writer is in the middle of a file at the instant of the snapshot.
    const taken = await takeSnapshot(service, sandbox);
    kept.push(taken);
    await deleteSandbox(service, sandbox);
    if (round === Math.ceil(rounds / 2)) {
      await service.kill();
      // Set-up was run on an empty cache.
      const second = await rebuiltTemplate(preparedHost(), folder);
      const { ramPath, statePath, diskPath, manifest } = second.templates.small;
      for (const path of [ramPath, statePath, diskPath, manifest.basePath]) await replaceByZeros(path);
      await rm(first.templates.small.folder, { recursive: true });
      service = await startServiceProcess(data, settings, second);
    }
    sandbox = (await createSandbox(service, { snapshot_id: taken.id, timeout_minutes: 600 })).id;
    const found = Number(await output(service, sandbox, checkAndGoOn, 300_000));
    expect(found).toBeGreaterThan(files);
    filesBefore = files;
    files = found;
    // Only the newest and one of the middle stay: the others are deleted under the chain.
    if (kept.length > 2) await deleteSnapshot(service, kept.splice(1, 1)[0]?.id ?? '');
  }
  await deleteSandbox(service, sandbox);
  console.log(
    `${rounds} rounds: ${files} files with the right checksum; MiB of the last snapshot: ${Math.round((kept.at(-1)?.bytes ?? 0) / 1024 ** 2)}`,
  );
  const checked = await checkFileSystem(data.dataDir, kept.at(-1)?.id ?? '', folder);
  console.log(`${checked.files} files on the disk of the last snapshot; e2fsck: ${checked.report}`);
  // The writer went on in the copy for a moment before it was stopped.
  expect(checked.files).toBeGreaterThanOrEqual(filesBefore);
  expect(checked.files).toBeLessThanOrEqual(files);
  for (const { id } of kept) await deleteSnapshot(service, id);
  await expect.poll(() => readdir(join(data.dataDir, 'snapshots'))).toEqual([]);
}, 3_600_000);
