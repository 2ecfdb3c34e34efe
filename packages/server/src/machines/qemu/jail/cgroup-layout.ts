import { readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** The controllers that limit a machine. */
export const controllers = ['cpu', 'memory', 'pids'] as const;
export type Controller = (typeof controllers)[number];

/** One cgroup hierarchy and the controllers that can be used in it. */
export interface Hierarchy {
  readonly root: string;
  readonly controllers: readonly Controller[];
}

/** The cgroup hierarchies of this host. */
export interface CgroupLayout {
  /** Version 2 has one hierarchy. Version 1 has one per controller, possibly beside a version 2 hierarchy without controllers. */
  readonly version: 1 | 2;
  readonly hierarchies: readonly Hierarchy[];
  /** Controllers that cannot be used on this host. */
  readonly missing: readonly Controller[];
}

/**
 * Detects the cgroup hierarchies and changes nothing. In version 2 only the controllers that the root already delegates are used (systemd
 * does that), so that Mayfly never interferes with the manager of the root. Throws when the host has no cgroups.
 */
export async function detectCgroups(mountPoint = '/sys/fs/cgroup'): Promise<CgroupLayout> {
  if (await readWords(join(mountPoint, 'cgroup.controllers'))) {
    const delegated = (await readWords(join(mountPoint, 'cgroup.subtree_control'))) ?? [];
    const usable = controllers.filter((controller) => delegated.includes(controller));
    return layoutOf(2, [{ root: mountPoint, controllers: usable }]);
  }
  const hierarchies = await versionOneHierarchies(mountPoint);
  if (hierarchies.length === 0) {
    throw new Error(`There are no cgroups under ${mountPoint}, so machines cannot be limited on this host.`);
  }
  return layoutOf(1, hierarchies);
}

/** The hierarchies of version 1. A host may mount several controllers together and link their names, so each hierarchy is listed once. */
async function versionOneHierarchies(mountPoint: string): Promise<Hierarchy[]> {
  const controllersOf = new Map<string, Controller[]>();
  for (const controller of controllers) {
    const root = await realpath(join(mountPoint, controller)).catch(() => undefined);
    if (root === undefined || !(await stat(join(root, 'cgroup.procs')).catch(() => undefined))) continue;
    controllersOf.set(root, [...(controllersOf.get(root) ?? []), controller]);
  }
  return Array.from(controllersOf, ([root, own]) => ({ root, controllers: own }));
}

function layoutOf(version: 1 | 2, hierarchies: readonly Hierarchy[]): CgroupLayout {
  const found = new Set(hierarchies.flatMap((hierarchy) => hierarchy.controllers));
  return { version, hierarchies, missing: controllers.filter((controller) => !found.has(controller)) };
}

/** The words of a file; undefined when it does not exist. */
async function readWords(path: string): Promise<readonly string[] | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  return text?.split(/\s+/).filter((word) => word !== '');
}
