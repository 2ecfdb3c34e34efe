import { constants, readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { machineDeadlines } from '../../../core/ports/machine-deadlines.ts';
import { runStep, type StepRunner } from '../steps.ts';
import type { CgroupLayout, Hierarchy } from './cgroup-layout.ts';
import {
  type CgroupLimits,
  type ControlFile,
  controlFiles,
  groupMemoryFiles,
  ownedMemoryCounter,
} from './cgroup-limits.ts';
import type { ProcessKiller } from './process-killer.ts';

/** The folder for all of Mayfly's groups in a hierarchy. Nothing outside it is ever written. */
const ownFolder = 'mayfly';

type GroupKiller = Pick<ProcessKiller, 'killGroup'>;

export interface CgroupsOptions {
  /** Kills the processes of a group where the kernel cannot do so itself. */
  readonly killer: GroupKiller;
  readonly step?: StepRunner;
  /** The most memory that all machines of this host process may use together; unlimited when absent. */
  readonly memoryBytes?: number | undefined;
}

/** The cgroups of one host process's machines: mayfly/<instance>/<id> in every hierarchy. */
export class Cgroups {
  readonly #layout: CgroupLayout;
  readonly #instance: string;
  readonly #killer: GroupKiller;
  readonly #step: StepRunner;
  readonly #memoryBytes: number | undefined;
  /** Hierarchies whose parent folders are known to exist. */
  readonly #prepared = new Set<Hierarchy>();
  /** Whether the machines used more than the limit when it was to be set. */
  #isOverLimit = false;

  constructor(layout: CgroupLayout, instance: string, { killer, step = runStep, memoryBytes }: CgroupsOptions) {
    this.#layout = layout;
    this.#killer = killer;
    this.#step = step;
    this.#memoryBytes = memoryBytes;
    this.#instance = checkName(instance);
  }

  /**
   * Limits the memory of all machines together, including those that an earlier host process left running. Returns false, and sets no limit, if
   * they use more than that already: the kernel would kill some of them.
   */
  async limitAll(): Promise<boolean> {
    for (const hierarchy of this.#layout.hierarchies) await this.#makeParents(hierarchy);
    return !this.#isOverLimit;
  }

  /** Creates a machine's group with its limits. Returns the cgroup.procs files by which a process joins it. Must be removed also when this fails. */
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

  /** Kills the processes in a machine's group and removes it. A missing group is no error. */
  async remove(id: string): Promise<void> {
    checkName(id);
    for (const hierarchy of this.#layout.hierarchies) {
      await removeGroup(join(this.#parent(hierarchy), id), this.#killer);
    }
  }

  /** The ids of all machines that have a group, including the machines of an earlier host process with the same instance name. */
  async list(): Promise<string[]> {
    const folders = await Promise.all(
      this.#layout.hierarchies.map((hierarchy) =>
        readdir(this.#parent(hierarchy), { withFileTypes: true }).catch(() => []),
      ),
    );
    const names = folders.flat().flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
    return [...new Set(names)].toSorted();
  }

  /** The processes in a machine's group. */
  async pidsOf(id: string): Promise<number[]> {
    const lists = await Promise.all(
      this.#layout.hierarchies.map((hierarchy) =>
        readFile(join(this.#parent(hierarchy), checkName(id), 'cgroup.procs'), 'utf8').catch(() => ''),
      ),
    );
    return [...new Set(lists.flatMap((text) => text.split('\n').map(Number)))].filter((pid) => pid > 1);
  }

  /** The memory in bytes that the end of a machine would give back; 0 when that is unknown. */
  async memoryBytesOf(id: string): Promise<number> {
    const memory = this.#memoryHierarchy();
    if (!memory) return 0;
    const stat = await readFile(join(this.#parent(memory), checkName(id), 'memory.stat'), 'utf8').catch(() => '');
    return counterIn(stat, ownedMemoryCounter[this.#layout.version]) ?? 0;
  }

  /** How much more memory all machines together may take, in bytes; infinite when they have no limit. */
  memoryLeftBytes(): number {
    const memory = this.#memoryHierarchy();
    if (!memory || this.#memoryBytes === undefined) return Number.POSITIVE_INFINITY;
    let stat = '';
    try {
      stat = readFileSync(join(this.#parent(memory), 'memory.stat'), 'utf8');
    } catch {
      // There is no group while there is no machine.
    }
    return this.#memoryBytes - (counterIn(stat, ownedMemoryCounter[this.#layout.version]) ?? 0);
  }

  /** Removes this host process's folders, and Mayfly's, where they are empty. */
  async removeEmptyParents(): Promise<void> {
    for (const hierarchy of this.#layout.hierarchies) {
      await rmdir(this.#parent(hierarchy)).catch(() => {});
      await rmdir(join(hierarchy.root, ownFolder)).catch(() => {});
    }
  }

  #memoryHierarchy(): Hierarchy | undefined {
    return this.#layout.hierarchies.find((hierarchy) => hierarchy.controllers.includes('memory'));
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
      // Another host process has removed the folders because they were empty.
      if (errorCode(error) !== 'ENOENT') throw error;
      await this.#makeParents(hierarchy);
      await mkdir(group);
    }
    return group;
  }

  /** In version 2 a group has only the controllers that every folder above it delegates. */
  async #makeParents(hierarchy: Hierarchy): Promise<void> {
    for (const folder of [join(hierarchy.root, ownFolder), this.#parent(hierarchy)]) {
      await mkdir(folder, { recursive: true });
      if (this.#layout.version === 1 || hierarchy.controllers.length === 0) continue;
      const value = hierarchy.controllers.map((controller) => `+${controller}`).join(' ');
      await writeControl(folder, { name: 'cgroup.subtree_control', value });
    }
    if (hierarchy.controllers.includes('memory')) await this.#limitMemory(this.#parent(hierarchy));
    this.#prepared.add(hierarchy);
  }

  async #limitMemory(parent: string): Promise<void> {
    if (this.#memoryBytes === undefined) return;
    this.#isOverLimit = this.memoryLeftBytes() < 0;
    if (this.#isOverLimit) return;
    try {
      for (const file of groupMemoryFiles(this.#layout.version, this.#memoryBytes)) await writeControl(parent, file);
    } catch (error) {
      // Version 1 refuses a limit below what is used, which is more than the memory of the guests.
      if (errorCode(error) !== 'EBUSY') throw error;
      this.#isOverLimit = true;
    }
  }
}

function checkName(name: string): string {
  if (!/^[a-z0-9_-]{1,64}$/.test(name)) throw new Error(`not a cgroup name: ${JSON.stringify(name)}`);
  return name;
}

/** How long to wait before trying again to remove a group that still has processes. */
const removeRetryMs = 5;

/** How long to wait before killing the processes of a group again: those that were forked meanwhile. */
const killRetryMs = 250;

/** Kills every process of a group and removes it. A missing group is no error. Fails when the processes do not end in time. */
async function removeGroup(group: string, killer: GroupKiller): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += removeRetryMs) {
    try {
      await rmdir(group);
      return;
    } catch (cause) {
      const code = errorCode(cause);
      // No group: there is nothing, or a control file of the folder above. A machine of that name could not be created.
      if (code === 'ENOENT' || code === 'ENOTDIR') return;
      if (code !== 'EBUSY' || waitedMs >= machineDeadlines.destroy.removeCgroupMs) {
        throw new Error(`could not remove the cgroup ${group}`, { cause });
      }
    }
    if (waitedMs % killRetryMs === 0) await killAll(group, killer);
    await wait(removeRetryMs);
  }
}

async function killAll(group: string, killer: GroupKiller): Promise<void> {
  // Opened without O_CREAT, because groups of version 1 and of kernels before 5.14 have no such file.
  const killedAtOnce = await writeFile(join(group, 'cgroup.kill'), '1', { flag: constants.O_WRONLY }).then(
    () => true,
    () => false,
  );
  if (!killedAtOnce) await killer.killGroup(group);
}

/** The error codes of a control file that the kernel does not have. */
const unsupported = new Set(['ENOENT', 'EACCES', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP']);

/** Writes one control file of a group. Skips an optional one that the kernel does not have. */
async function writeControl(group: string, { name, value, optional }: ControlFile): Promise<void> {
  try {
    await writeFile(join(group, name), value);
  } catch (cause) {
    if (optional && unsupported.has(errorCode(cause) ?? '')) return;
    throw new Error(`could not write "${value}" to ${join(group, name)}`, { cause });
  }
}

/** One number of a control file with lines of "name number"; undefined when the name is missing. */
function counterIn(text: string, name: string): number | undefined {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}

/** The code of a system error, or undefined. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
