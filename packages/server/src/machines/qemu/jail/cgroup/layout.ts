import { readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** What a machine is limited by. */
export const controllers = ['cpu', 'memory', 'pids'] as const;
export type Controller = (typeof controllers)[number];

/** One tree of groups and the limits that can be set in it. */
export interface Hierarchy {
  readonly root: string;
  readonly controllers: readonly Controller[];
}

/** How the cgroups of this host are laid out. */
export interface CgroupLayout {
  /** 2: one tree for everything. 1: a tree per controller (also beside a version 2 tree that controls nothing). */
  readonly version: 1 | 2;
  readonly hierarchies: readonly Hierarchy[];
  /** Limits that this host does not let us set; say so at the start. */
  readonly missing: readonly Controller[];
}

const words = async (path: string): Promise<readonly string[] | undefined> => {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  return text?.split(/\s+/).filter((word) => word !== '');
};

const layoutOf = (version: 1 | 2, hierarchies: readonly Hierarchy[]): CgroupLayout => {
  const found = new Set(hierarchies.flatMap((hierarchy) => hierarchy.controllers));
  return { version, hierarchies, missing: controllers.filter((controller) => !found.has(controller)) };
};

/** The trees of version 1, each once: a host may mount several controllers together and link their names. */
const versionOneTrees = async (mountPoint: string): Promise<Hierarchy[]> => {
  const trees = new Map<string, Controller[]>();
  for (const controller of controllers) {
    const root = await realpath(join(mountPoint, controller)).catch(() => undefined);
    if (root === undefined || !(await stat(join(root, 'cgroup.procs')).catch(() => undefined))) continue;
    trees.set(root, [...(trees.get(root) ?? []), controller]);
  }
  return Array.from(trees, ([root, own]) => ({ root, controllers: own }));
};

/**
 * Finds out how cgroups work here. Nothing of the host is changed: in version 2 the controllers are those that the root hands
 * down already (systemd does), so that a manager of the root is never in dispute with us. Fails when there are no cgroups.
 */
export const detectCgroups = async (mountPoint = '/sys/fs/cgroup'): Promise<CgroupLayout> => {
  if (await words(join(mountPoint, 'cgroup.controllers'))) {
    const handedDown = (await words(join(mountPoint, 'cgroup.subtree_control'))) ?? [];
    const usable = controllers.filter((controller) => handedDown.includes(controller));
    return layoutOf(2, [{ root: mountPoint, controllers: usable }]);
  }
  const trees = await versionOneTrees(mountPoint);
  if (trees.length === 0) throw new Error(`no cgroups under ${mountPoint}: machines cannot be limited here`);
  return layoutOf(1, trees);
};
