import { type Sandbox, type Snapshot, sizeNames } from '@mayfly/contract';
import { Failure } from '../../cli-io.ts';
import { type ApiClient, ApiError } from './api-client.ts';
import { type Base, expendable, longestPrefix, namePrefix, type Plan, type PreparedRecipe, planBuild } from './plan.ts';
import type { Progress } from './progress.ts';
import { performFinish, performStep, StepFailure } from './steps.ts';

export interface BuildOptions {
  readonly api: ApiClient;
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

/** For requests that must be finished although the build was interrupted. */
const cleanupTimeoutMs = 60_000;
const replaceTimeoutMs = 1_200_000;

/** Builds a template and saves it under its alias. Whatever happens, the sandbox that it was built in is deleted. */
export async function buildTemplate(recipe: PreparedRecipe, options: BuildOptions): Promise<Snapshot> {
  return await new Build(recipe, options).run();
}

class Build {
  readonly #recipe: PreparedRecipe;
  readonly #options: BuildOptions;
  readonly #total: number;
  #mayKeep = true;

  constructor(recipe: PreparedRecipe, options: BuildOptions) {
    this.#recipe = recipe;
    this.#options = options;
    this.#total = recipe.steps.length + (recipe.finish ? 1 : 0);
  }

  async run(): Promise<Snapshot> {
    const { api, progress, useCache, nowMs } = this.#options;
    const { alias, base } = this.#recipe;
    const startedAtMs = nowMs();
    const snapshots = await api.listSnapshots();
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
      if (from && from.alias !== null) await this.#keep(sandbox.id, plan.names[done - 1]);
      await this.#performSteps(sandbox.id, plan, done);
      return await this.#saveResult(sandbox.id, plan);
    } finally {
      await this.#deleteSandbox(sandbox);
    }
  }

  /** Not interrupted: a create whose answer is not read leaves a sandbox that nobody knows. */
  #createSandbox(origin: Base): Promise<Sandbox> {
    this.#options.signal.throwIfAborted();
    const name = `template build: ${this.#recipe.alias}`.slice(0, 100);
    const uninterrupted = this.#options.api.withSignal(AbortSignal.timeout(replaceTimeoutMs));
    return uninterrupted.createSandbox(origin, { name, timeout_minutes: this.#options.lifetimeMinutes });
  }

  async #performSteps(sandboxId: string, plan: Plan, done: number): Promise<void> {
    const { api, progress, keepAfterMs, nowMs } = this.#options;
    const { steps, finish } = this.#recipe;
    let unkeptMs = 0;
    for (let at = done; at < this.#total; at++) {
      const step = steps[at];
      const status = this.#status(at);
      const startedAtMs = nowMs();
      progress.stepStarted(status);
      try {
        if (step) await performStep(api, sandboxId, step);
        else if (finish) await performFinish(api, sandboxId, finish);
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
      if (at + 1 < this.#total && unkeptMs >= keepAfterMs && (await this.#keep(sandboxId, plan.names[at])))
        unkeptMs = 0;
    }
  }

  /** Saves a state for later builds. Without room for it, the build goes on without keeping any more. */
  async #keep(sandboxId: string, name: string | undefined): Promise<boolean> {
    if (!this.#mayKeep || name === undefined) return false;
    const { api, progress } = this.#options;
    try {
      await api.takeSnapshot(sandboxId, { name });
      return true;
    } catch (error) {
      if (!(error instanceof ApiError && hasNoRoom(error))) throw error;
      this.#mayKeep = false;
      progress.note(`Steps are no longer cached: ${error.message}`);
      return false;
    }
  }

  /**
   * Saves the result under the alias. An alias cannot be moved, so the template that has it is deleted first, but only once the result is
   * safe in a snapshot without alias. From the deletion on, the build is not interrupted.
   */
  async #saveResult(sandboxId: string, plan: Plan): Promise<Snapshot> {
    const { api, signal } = this.#options;
    const { alias } = this.#recipe;
    const name = plan.finalName;
    const existing = (await api.listSnapshots()).find((snapshot) => snapshot.alias === alias);
    refuseForeign(existing, alias);
    if (!existing) return await this.#takeWithRoom(api, plan, sandboxId, { name, alias });

    const copy = await this.#takeWithRoom(api, plan, sandboxId, { name });
    signal.throwIfAborted();
    const uninterrupted = api.withSignal(AbortSignal.timeout(replaceTimeoutMs));
    await uninterrupted.deleteSnapshot(existing.id);
    try {
      return await this.#takeWithRoom(uninterrupted, plan, sandboxId, { name, alias }, copy);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new ApiError(
        `The old template ${alias} was deleted, but the new one could not be saved under the alias: ${reason} Its state is kept as ${copy.id}: build again to finish.`,
        cause instanceof ApiError ? cause.type : undefined,
        { cause },
      );
    }
  }

  /** Takes a snapshot that the build cannot do without, and deletes kept states for it if the account has no room. */
  async #takeWithRoom(
    api: ApiClient,
    plan: Plan,
    sandboxId: string,
    body: { readonly name: string; readonly alias?: string },
    needed?: Snapshot,
  ): Promise<Snapshot> {
    for (;;) {
      try {
        return await api.takeSnapshot(sandboxId, body);
      } catch (error) {
        if (!(error instanceof ApiError && error.type === 'quota_exceeded')) throw error;
        const states = expendable(plan, this.#recipe.alias, await api.listSnapshots(), { evenCurrent: true });
        const victim = states.find(({ id }) => id !== needed?.id);
        if (!victim) throw error;
        this.#options.progress.note(`A cached state was deleted to make room for the template: ${victim.id}.`);
        await api.deleteSnapshot(victim.id);
      }
    }
  }

  async #deleteStale(plan: Plan): Promise<void> {
    const { api, progress } = this.#options;
    const uninterrupted = api.withSignal(AbortSignal.timeout(cleanupTimeoutMs));
    try {
      const snapshots = await uninterrupted.listSnapshots();
      for (const { id } of expendable(plan, this.#recipe.alias, snapshots, { evenCurrent: false })) {
        await uninterrupted.deleteSnapshot(id);
      }
    } catch (error) {
      progress.note(`Not all states of earlier builds were deleted: ${messageOf(error)}`);
    }
  }

  async #deleteSandbox({ id, expires_at }: Sandbox): Promise<void> {
    const { api, progress } = this.#options;
    try {
      await api.withSignal(AbortSignal.timeout(cleanupTimeoutMs)).deleteSandbox(id);
    } catch (error) {
      const end = expires_at === null ? '' : ` It expires at ${expires_at}.`;
      progress.note(`The sandbox of the build, ${id}, could not be deleted: ${messageOf(error)}${end}`);
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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function findBase(base: string, snapshots: readonly Snapshot[]): Base {
  if ((sizeNames as readonly string[]).includes(base)) return { size: base };
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
