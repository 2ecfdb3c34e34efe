import { mkdir, readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runStep, type StepRunner } from '../../steps.ts';
import { errorCode, readCounter, writeControl } from './control-file.ts';
import type { CgroupLayout, Hierarchy } from './layout.ts';
import { type CgroupLimits, controlFiles } from './limits.ts';
import { removeGroup } from './remove-group.ts';

/** The folder of all that Mayfly has in a tree. Nothing outside is ever written. */
const ownFolder = 'mayfly';

const checkName = (name: string): string => {
  if (!/^[a-z0-9_-]{1,64}$/.test(name)) throw new Error(`not a cgroup name: ${JSON.stringify(name)}`);
  return name;
};

/** The cgroups of one service's machines: mayfly/<instance>/<id> in every tree. */
export class Cgroups {
  readonly #layout: CgroupLayout;
  readonly #instance: string;
  readonly #step: StepRunner;
  /** Trees whose folders above the machines are known to be there. */
  readonly #prepared = new Set<Hierarchy>();

  constructor(layout: CgroupLayout, instance: string, step: StepRunner = runStep) {
    this.#layout = layout;
    this.#step = step;
    this.#instance = checkName(instance);
  }

  /** Makes the group of a machine that has none, limits set. Returns the cgroup.procs files a process joins it by. When it fails, remove it. */
  async create(id: string, limits: CgroupLimits): Promise<readonly string[]> {
    checkName(id);
    const procs: string[] = [];
    for (const hierarchy of this.#layout.hierarchies) {
      const group = await this.#step('make cgroup', () => this.#makeGroup(hierarchy, id));
      const files = controlFiles(this.#layout.version, hierarchy.controllers, limits);
      await this.#step('limit cgroup', async () => {
        for (const file of files) await writeControl(group, file);
      });
      procs.push(join(group, 'cgroup.procs'));
    }
    return procs;
  }

  /** Ends what still runs in a machine's group and removes it; no error when there is none. */
  async remove(id: string): Promise<void> {
    checkName(id);
    for (const hierarchy of this.#layout.hierarchies) await removeGroup(join(this.#parent(hierarchy), id));
  }

  /** The ids of all machines that have a group here, also of those that an earlier service left. */
  async list(): Promise<string[]> {
    const folders = await Promise.all(
      this.#layout.hierarchies.map((hierarchy) =>
        readdir(this.#parent(hierarchy), { withFileTypes: true }).catch(() => []),
      ),
    );
    const names = folders.flat().flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
    return [...new Set(names)].toSorted();
  }

  /** How often the kernel killed a process of a machine because it was over its memory limit; 0 when that is not known. */
  async outOfMemoryKills(id: string): Promise<number> {
    const memory = this.#layout.hierarchies.find((hierarchy) => hierarchy.controllers.includes('memory'));
    if (!memory) return 0;
    const file = this.#layout.version === 2 ? 'memory.events' : 'memory.oom_control';
    return (await readCounter(join(this.#parent(memory), checkName(id)), file, 'oom_kill')) ?? 0;
  }

  /** Removes the folders of this service, and of Mayfly, where they are empty. */
  async removeEmptyParents(): Promise<void> {
    for (const hierarchy of this.#layout.hierarchies) {
      await rmdir(this.#parent(hierarchy)).catch(() => {});
      await rmdir(join(hierarchy.root, ownFolder)).catch(() => {});
    }
  }

  #parent({ root }: Hierarchy): string {
    return join(root, ownFolder, this.#instance);
  }

  async #makeGroup(hierarchy: Hierarchy, id: string): Promise<string> {
    const group = join(this.#parent(hierarchy), id);
    if (!this.#prepared.has(hierarchy)) await this.#makeParents(hierarchy);
    try {
      await mkdir(group);
    } catch (error) {
      // Another service found the folders empty and removed them.
      if (errorCode(error) !== 'ENOENT') throw error;
      await this.#makeParents(hierarchy);
      await mkdir(group);
    }
    return group;
  }

  /** In version 2 a group has only the limits that every folder above it hands down. */
  async #makeParents(hierarchy: Hierarchy): Promise<void> {
    for (const folder of [join(hierarchy.root, ownFolder), this.#parent(hierarchy)]) {
      await mkdir(folder, { recursive: true });
      if (this.#layout.version === 1 || hierarchy.controllers.length === 0) continue;
      const value = hierarchy.controllers.map((controller) => `+${controller}`).join(' ');
      await writeControl(folder, { name: 'cgroup.subtree_control', value });
    }
    this.#prepared.add(hierarchy);
  }
}
