import { createHash } from 'node:crypto';
import type { Snapshot } from '@mayfly/sdk';
import type { FileTree } from '../files/file-tree.ts';
import type { CopyStep, Finish, Recipe, RunStep } from '../recipe/recipe.ts';

/** A step with everything that its result depends on. */
export type PreparedStep = RunStep | (CopyStep & { readonly tree: FileTree });

export interface PreparedRecipe extends Omit<Recipe, 'steps'> {
  readonly steps: readonly PreparedStep[];
}

/** Where a build starts: a size or a snapshot. */
export type Base = { readonly size: Snapshot['size'] } | { readonly snapshot_id: string };

/** The states that a build passes through, and the names under which snapshots of them are kept. */
export interface Plan {
  /** The name of the state after each step, and at last after the finish if there is one. */
  readonly names: readonly string[];
  /** The name of the result. */
  readonly finalName: string;
}

/** Names the state after each step by a hash of the base, the step and everything before it. */
export function planBuild({ alias, steps, finish }: PreparedRecipe, base: Base): Plan {
  const inputs = [...steps.map(inputsOf), ...(finish ? [inputsOfFinish(finish)] : [])];
  let key = hash(['mayfly-build-1', base]);
  const keys = inputs.map((each) => {
    key = hash([key, ...each]);
    return key;
  });
  const names = keys.map((each) => snapshotName(alias, each));
  return { names, finalName: snapshotName(alias, key) };
}

function inputsOf(step: PreparedStep): readonly unknown[] {
  if (step.kind === 'copy') return ['copy', step.tree.folder, step.tree.digest];
  return ['run', step.command, step.cwd, sorted(step.env)];
}

function inputsOfFinish({ start, ready, cwd, env }: Finish): readonly unknown[] {
  return ['finish', start ?? null, ready?.check ?? null, cwd, sorted(env)];
}

function sorted(env: Readonly<Record<string, string>>): readonly (readonly [string, string])[] {
  return Object.entries(env).sort(([one], [other]) => (one < other ? -1 : 1));
}

function hash(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32);
}

/** Begins the names of all snapshots that builds of a template keep. A name has at most 100 characters, so a long alias is shortened. */
export function namePrefix(alias: string): string {
  const shown = alias.length <= 53 ? alias : `${alias.slice(0, 36)}~${hash(alias).slice(0, 16)}`;
  return `mayfly-build:${shown}:`;
}

function snapshotName(alias: string, key: string): string {
  return `${namePrefix(alias)}${key}`;
}

/** The furthest state that a snapshot exists of: how many entries of `names` it covers, and the snapshot. Snapshots are newest first. */
export function longestPrefix(
  { names }: Plan,
  snapshots: readonly Snapshot[],
): { readonly done: number; readonly snapshot: Snapshot | undefined } {
  for (let done = names.length; done > 0; done--) {
    const snapshot = snapshots.find(({ name, status }) => name === names[done - 1] && status === 'ready');
    if (snapshot) return { done, snapshot };
  }
  return { done: 0, snapshot: undefined };
}

/**
 * The kept states of a template that can be deleted, least useful first. Snapshots are newest first. Without `evenCurrent` these are
 * the states that the plan does not contain, and older snapshots of the same state. A snapshot with an alias is never among them.
 */
export function expendable(
  { names }: Plan,
  alias: string,
  snapshots: readonly Snapshot[],
  { evenCurrent }: { readonly evenCurrent: boolean },
): Snapshot[] {
  const kept = snapshots.filter(({ name, status }) => name?.startsWith(namePrefix(alias)) && status !== 'creating');
  const current = new Map(names.map((name) => [name, kept.find((snapshot) => snapshot.name === name)]));
  const isCurrent = (snapshot: Snapshot) => current.get(snapshot.name ?? '') === snapshot;
  const stale = kept.filter((snapshot) => !isCurrent(snapshot));
  const inOrder = evenCurrent ? [...stale, ...current.values()] : stale;
  return inOrder.filter((snapshot) => snapshot !== undefined).filter((snapshot) => snapshot.alias === null);
}
