import { sizeNames } from '@mayfly/contract';
import {
  ApiError,
  type Mayfly,
  NotFoundError,
  type RequestOptions,
  type Sandbox,
  type Snapshot,
  type SnapshotOptions,
} from '@mayfly/sdk';
import { Failure } from '../../cli-io.ts';
import { failureOf } from '../../service/client.ts';
import { type Base, expendable, longestPrefix, namePrefix, type Plan, type PreparedRecipe, planBuild } from './plan.ts';
import type { Progress } from './progress.ts';
import { performFinish, performStep, StepFailure } from './steps.ts';

export interface BuildOptions {
  readonly mayfly: Mayfly;
  readonly progress: Progress;
  /** Aborted when the build is interrupted or takes too long; its reason is thrown. */
  readonly signal: AbortSignal;
  /** Whether states that earlier builds kept are used. New ones are kept either way. */
  readonly useCache: boolean;
  /** A state is kept once repeating the steps since the last kept one would take this long. */
  readonly keepAfterMs: number;
  /** The lifetime of the build's sandbox, in case the build cannot delete it. */
  readonly lifetimeMinutes: number;
  readonly nowMs: () => number;
}

/** More retries than other commands have: a build is long, and nobody sits in front of it. */
const maxRetries = 4;
/** After an attempt that was interrupted, the service may need a minute to clean up. These take that long. */
const snapshotRetries = 10;
/** For requests that must be finished although the build was interrupted. */
const cleanup: RequestOptions = { deadlineMs: 60_000, maxRetries };
const replacement: RequestOptions = { deadlineMs: 1_200_000, maxRetries };

/** Builds a template and saves it under its alias. Whatever happens, the sandbox that it was built in is deleted. */
export async function buildTemplate(recipe: PreparedRecipe, options: BuildOptions): Promise<Snapshot> {
  return await new Build(recipe, options).run();
}

class Build {
  readonly #recipe: PreparedRecipe;
  readonly #options: BuildOptions;
  readonly #total: number;
  /** Of every request that ends with the build. */
  readonly #request: RequestOptions;
  #mayKeep = true;

  constructor(recipe: PreparedRecipe, options: BuildOptions) {
    this.#recipe = recipe;
    this.#options = options;
    this.#request = { signal: options.signal, maxRetries };
    this.#total = recipe.steps.length + (recipe.finish ? 1 : 0);
  }

  async run(): Promise<Snapshot> {
    const { progress, useCache, nowMs } = this.#options;
    const { alias, base } = this.#recipe;
    const startedAtMs = nowMs();
    const snapshots = await this.#listSnapshots();
    const origin = findBase(base, snapshots);
    const plan = planBuild(this.#recipe, origin);
    const current = snapshots.find((snapshot) => snapshot.alias === alias);
    refuseForeign(current, alias);
    progress.buildStarted({ alias, base, total: this.#total });

    const { done, snapshot } = useCache ? longestPrefix(plan, snapshots) : { done: 0, snapshot: undefined };
    for (let at = 0; at < done; at++) progress.stepFinished(this.#status(at), { cached: true, durationMs: 0 });
    const upToDate = useCache && current?.name === plan.finalName && current.status === 'ready';
    const result = upToDate ? current : await this.#buildFrom(plan, origin, done, snapshot);
    await this.#deleteStale(plan);
    progress.buildFinished(result, { cached: upToDate, durationMs: nowMs() - startedAtMs });
    return result;
  }

  async #buildFrom(plan: Plan, base: Base, done: number, from: Snapshot | undefined): Promise<Snapshot> {
    const sandbox = await this.#createSandbox(from ? { snapshot_id: from.id } : base);
    try {
      this.#options.signal.throwIfAborted();
      // The template that is about to be replaced is also the last kept state of its steps.
      if (from && from.alias !== null) await this.#keep(sandbox, plan.names[done - 1]);
      await this.#performSteps(sandbox, plan, done);
      return await this.#saveResult(sandbox, plan);
    } finally {
      await this.#deleteSandbox(sandbox);
    }
  }

  async #createSandbox(origin: Base): Promise<Sandbox> {
    const { mayfly, progress, lifetimeMinutes } = this.#options;
    progress.waiting('Creating the sandbox of the build');
    const name = `template build: ${this.#recipe.alias}`.slice(0, 100);
    const from = 'size' in origin ? { size: origin.size } : { snapshotId: origin.snapshot_id };
    return await mayfly.sandboxes.create({ ...from, name, lifetimeMinutes, ...this.#request });
  }

  /** All snapshots of the account, newest first. */
  #listSnapshots(options = this.#request): Promise<readonly Snapshot[]> {
    return this.#options.mayfly.snapshots.list(options).all();
  }

  /** Deletes a snapshot. One that is already gone is no error. */
  async #deleteSnapshot(id: string, options = this.#request): Promise<void> {
    await this.#options.mayfly.snapshots.delete(id, options).catch((error: unknown) => {
      if (!(error instanceof NotFoundError)) throw error;
    });
  }

  async #performSteps(sandbox: Sandbox, plan: Plan, done: number): Promise<void> {
    const { progress, keepAfterMs, nowMs } = this.#options;
    const { steps, finish } = this.#recipe;
    let unkeptMs = 0;
    for (let at = done; at < this.#total; at++) {
      const step = steps[at];
      const status = this.#status(at);
      const startedAtMs = nowMs();
      progress.stepStarted(status);
      try {
        if (step) await performStep(sandbox, step, this.#request);
        else if (finish) await performFinish(sandbox, finish, this.#request);
      } catch (error) {
        if (error instanceof StepFailure) {
          progress.stepFailed(status, { exitCode: error.commandExitCode, output: error.output });
        }
        throw error;
      }
      const durationMs = nowMs() - startedAtMs;
      progress.stepFinished(status, { cached: false, durationMs });
      unkeptMs += durationMs;
      // The last state is the result, which is saved in any case.
      if (at + 1 < this.#total && unkeptMs >= keepAfterMs && (await this.#keep(sandbox, plan.names[at]))) unkeptMs = 0;
    }
  }

  /** Saves a state for later builds. Without room for it, the build goes on without keeping any more. */
  async #keep(sandbox: Sandbox, name: string | undefined): Promise<boolean> {
    if (!this.#mayKeep || name === undefined) return false;
    const { progress } = this.#options;
    progress.waiting('Saving the steps so far');
    try {
      await takeSnapshot(sandbox, { name, ...this.#request });
      return true;
    } catch (error) {
      if (!(error instanceof ApiError && hasNoRoom(error))) throw error;
      this.#mayKeep = false;
      progress.note(`Steps are no longer cached: ${messageOf(error)}`);
      return false;
    }
  }

  /**
   * Saves the result under the alias. An alias cannot be moved, so the template that has it is deleted first, but only once the result is
   * safe in a snapshot without alias. From the deletion on, the build is not interrupted.
   */
  async #saveResult(sandbox: Sandbox, plan: Plan): Promise<Snapshot> {
    const { progress, signal } = this.#options;
    const { alias } = this.#recipe;
    const name = plan.finalName;
    progress.waiting('Saving the template');
    const existing = (await this.#listSnapshots()).find((snapshot) => snapshot.alias === alias);
    refuseForeign(existing, alias);
    if (!existing) return await this.#takeWithRoom(plan, sandbox, { name, alias }, this.#request);

    const copy = await this.#takeWithRoom(plan, sandbox, { name }, this.#request);
    signal.throwIfAborted();
    await this.#deleteSnapshot(existing.id, replacement);
    try {
      return await this.#takeWithRoom(plan, sandbox, { name, alias }, replacement, copy);
    } catch (cause) {
      throw new Failure(
        `The old template ${alias} was deleted, but the new one could not be saved under the alias: ${messageOf(cause)} Its state is kept as ${copy.id}: build again to finish.`,
        { exitCode: 3, type: cause instanceof ApiError ? cause.type : undefined, cause },
      );
    }
  }

  /** Takes a snapshot that the build cannot do without, and deletes kept states for it if the account has no room. */
  async #takeWithRoom(
    plan: Plan,
    sandbox: Sandbox,
    names: { readonly name: string; readonly alias?: string },
    options: RequestOptions,
    needed?: Snapshot,
  ): Promise<Snapshot> {
    for (;;) {
      try {
        return await takeSnapshot(sandbox, { ...names, ...options });
      } catch (error) {
        if (!(error instanceof ApiError && error.type === 'quota_exceeded')) throw error;
        const states = expendable(plan, this.#recipe.alias, await this.#listSnapshots(options), { evenCurrent: true });
        const victim = states.find(({ id }) => id !== needed?.id);
        if (!victim) throw error;
        this.#options.progress.note(`A cached state was deleted to make room for the template: ${victim.id}.`);
        await this.#deleteSnapshot(victim.id, options);
      }
    }
  }

  async #deleteStale(plan: Plan): Promise<void> {
    const { progress } = this.#options;
    try {
      const snapshots = await this.#listSnapshots(cleanup);
      for (const { id } of expendable(plan, this.#recipe.alias, snapshots, { evenCurrent: false })) {
        await this.#deleteSnapshot(id, cleanup);
      }
    } catch (error) {
      progress.note(`Not all states of earlier builds were deleted: ${messageOf(error)}`);
    }
  }

  async #deleteSandbox(sandbox: Sandbox): Promise<void> {
    const { id, expiresAt } = sandbox;
    try {
      await sandbox.delete(cleanup);
    } catch (error) {
      const end = expiresAt === null ? '' : ` It expires at ${expiresAt.toISOString()}.`;
      this.#options.progress.note(`The sandbox of the build, ${id}, could not be deleted: ${messageOf(error)}${end}`);
    }
  }

  #status(at: number) {
    const label = this.#recipe.steps[at]?.label ?? this.#recipe.finish?.label ?? '';
    return { step: at + 1, total: this.#total, label };
  }
}

function hasNoRoom({ type }: ApiError): boolean {
  return type === 'quota_exceeded' || type === 'capacity_unavailable';
}

/** Saves a sandbox. Throws a Failure if the snapshot is not ready. */
async function takeSnapshot(sandbox: Sandbox, options: SnapshotOptions): Promise<Snapshot> {
  const snapshot = await sandbox.snapshot({ ...options, maxRetries: snapshotRetries });
  if (snapshot.status === 'ready') return snapshot;
  const message = `Snapshot ${snapshot.id} is not ready (status: ${snapshot.status}). Build again in a minute.`;
  throw new Failure(message, { exitCode: 3 });
}

function messageOf(error: unknown): string {
  const failure = failureOf(error);
  return failure instanceof Error ? failure.message : String(failure);
}

function findBase(base: string, snapshots: readonly Snapshot[]): Base {
  const size = sizeNames.find((name) => name === base);
  if (size !== undefined) return { size };
  const found = snapshots.find(({ alias, status }) => alias === base && status === 'ready');
  if (found) return { snapshot_id: found.id };
  throw new Failure(
    `The base ${base} is neither a size (${sizeNames.join(', ')}) nor the alias of a template. Build that template first.`,
    { exitCode: 2 },
  );
}

/** A snapshot that somebody saved under the alias by hand is not replaced. */
function refuseForeign(existing: Snapshot | undefined, alias: string): void {
  if (!existing || existing.name?.startsWith(namePrefix(alias))) return;
  throw new Failure(
    `The alias ${alias} belongs to the snapshot ${existing.id}, which was not made by a build. Delete it, or choose another alias.`,
    { exitCode: 2 },
  );
}
