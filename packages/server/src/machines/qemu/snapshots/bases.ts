import { link, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type SizeName, sizeNames, sizes } from '@mayfly/contract';
import { machineDeadlines } from '../../../core/ports/machine-deadlines.ts';
import type { Log } from '../../../core/ports/runtime.ts';
import { KeyedLock } from '../../../core/scheduling/keyed-lock.ts';
import { runProgram } from '../../../system/run-program.ts';
import { errorCode } from '../jail/cgroups.ts';
import type { Template } from '../template/template.ts';
import { runRamTool } from './ram-tool.ts';
import { baseLayers, filesOfTemplate, flush, linkPairs, type RestoreFiles, restoreFilesIn } from './restore-files.ts';

export interface BasesOptions {
  /** The folder `bases` of the data folder. */
  readonly folder: string;
  /** The short form of the KVM suites has only one. */
  readonly templates: Readonly<Partial<Record<SizeName, Template>>>;
  /** native/ram. */
  readonly ramPath: string;
  readonly log: Log;
}

/** The template that machines of a size are launched from. */
export interface Base {
  readonly key: string;
  readonly files: RestoreFiles;
}

/**
 * The templates' files in the data folder, as hard links, so that snapshots do not depend on the cache of set-up. If the cache is on another file system, or on one without hard links,
 * machines are launched from the cache, and a template is copied when the first of its machines is saved.
 */
export class Bases {
  readonly #options: BasesOptions;
  readonly #bySize: ReadonlyMap<SizeName, Base>;
  readonly #making: KeyedLock;

  private constructor(options: BasesOptions, bySize: ReadonlyMap<SizeName, Base>, making: KeyedLock) {
    this.#options = options;
    this.#bySize = bySize;
    this.#making = making;
  }

  /** Links the templates into the folder. */
  static async open(options: BasesOptions): Promise<Bases> {
    const { folder, templates } = options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const bySize = new Map<SizeName, Base>();
    for (const size of sizeNames) {
      const template = templates[size];
      if (template !== undefined) bySize.set(size, await openBase(options, template));
    }
    return new Bases(options, bySize, new KeyedLock());
  }

  /** The base of new machines of a size. */
  ofSize(size: SizeName): Base {
    const base = this.#bySize.get(size);
    if (base === undefined) throw new Error(`There is no template for the size ${size}.`);
    return base;
  }

  /** How many bytes must be copied before machines of a base can be saved. */
  async missingBytes(key: string): Promise<number> {
    if (await isComplete(join(this.#options.folder, key))) return 0;
    const template = this.#templateOf(key);
    if (template === undefined) return 0;
    const { ramPaths, diskPaths, statePath } = filesOfTemplate(template);
    const found = await Promise.all([...ramPaths, ...diskPaths, statePath].map((path) => stat(path).catch(() => {})));
    return found.reduce((sum, file) => sum + (file?.blocks ?? 0) * 512, 0);
  }

  /** The files of a base in the data folder, copied now if they are only in the cache. Throws when they are gone. */
  async inDataFolder(key: string, signal: AbortSignal): Promise<RestoreFiles> {
    const folder = join(this.#options.folder, key);
    return await this.#making.run(key, async () => {
      if (await isComplete(folder)) return restoreFilesIn(folder, baseLayers);
      const template = this.#templateOf(key);
      if (template === undefined) {
        throw new Error('The template of this machine is not in the cache any more, so the machine cannot be saved.');
      }
      const copy: Transfer = (source, target) => copyFileSparsely(source, target, signal);
      return await makeBase(this.#options.ramPath, template, folder, copy);
    });
  }

  /** Removes the bases that are neither current nor among these. Snapshots have links of their own. */
  async removeUnused(usedKeys: ReadonlySet<string>): Promise<void> {
    const { folder, log } = this.#options;
    const current = new Set([...this.#bySize.values()].map(({ key }) => key));
    const unused = (await readdir(folder)).filter((name) => !current.has(name) && !usedKeys.has(name));
    await Promise.all(unused.map((name) => rm(join(folder, name), { recursive: true, force: true })));
    if (unused.length > 0) log.info({ bases: unused }, 'unused_bases_removed');
  }

  #templateOf(key: string): Template | undefined {
    return Object.values(this.#options.templates).find((template) => baseKey(template) === key);
  }
}

/**
 * The name of a template's base. The folder of a template is named after the hash of everything it is made of. Two builds of the same parts differ in content,
 * and a machine fits only the one that it was launched from.
 */
function baseKey({ manifest, folder }: Template): string {
  return `${manifest.size}-${basename(folder)}-${manifest.createdAtMs}`;
}

async function openBase({ folder, ramPath, log }: BasesOptions, template: Template): Promise<Base> {
  const key = baseKey(template);
  const path = join(folder, key);
  if (await isComplete(path)) return { key, files: restoreFilesIn(path, baseLayers) };
  try {
    return { key, files: await makeBase(ramPath, template, path, link) };
  } catch (err) {
    if (!cannotBeLinked(err)) throw err;
    log.info({ template: template.folder, err }, 'template_not_linked');
    return { key, files: filesOfTemplate(template) };
  }
}

/** The file is on another file system, or on one that has no hard links or no more of this file. */
const linkErrors: readonly (string | undefined)[] = ['EXDEV', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK'];

function cannotBeLinked(error: unknown): boolean {
  return (
    error instanceof Error && 'syscall' in error && error.syscall === 'link' && linkErrors.includes(errorCode(error))
  );
}

/** Its folder gets its name last. */
async function isComplete(folder: string): Promise<boolean> {
  return await stat(folder).then(
    () => true,
    () => false,
  );
}

type Transfer = (source: string, target: string) => Promise<void>;

async function makeBase(
  ramPath: string,
  template: Template,
  folder: string,
  transfer: Transfer,
): Promise<RestoreFiles> {
  const partial = `${folder}.partial`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial, { mode: 0o700 });
  try {
    const files = restoreFilesIn(partial, baseLayers);
    for (const [source, target] of linkPairs(filesOfTemplate(template), files)) await transfer(source, target);
    await writePlan(ramPath, template, files);
    await flush(partial);
    await rename(partial, folder);
    await flush(join(folder, '..'));
    return restoreFilesIn(folder, baseLayers);
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
}

async function writePlan(ramPath: string, { manifest }: Template, { ramPaths, planPath }: RestoreFiles): Promise<void> {
  const [ramFile = ''] = ramPaths;
  await using ram = await open(ramFile, 'r');
  await using plan = await open(planPath ?? '', 'wx', 0o444);
  await runRamTool({
    ramPath,
    command: 'plan',
    files: [
      { option: '--ram', fd: ram.fd },
      { option: '--out', fd: plan.fd },
    ],
    argv: ['--ram-bytes', String(ramBytesOf(manifest.size))],
    deadlineMs: machineDeadlines.template.planMs,
  });
  await plan.sync();
}

/** The memory of a machine of a size. */
export function ramBytesOf(size: SizeName): number {
  return sizes[size].memoryGb * 1024 ** 3;
}

/** Copies a file without its holes, and flushes it. */
async function copyFileSparsely(source: string, target: string, signal: AbortSignal): Promise<void> {
  await runProgram('cp', ['--sparse=always', '--reflink=auto', '--preserve=mode', '--', source, target], {
    deadlineMs: machineDeadlines.template.copyMs,
    signal,
  });
  await flush(target);
}
