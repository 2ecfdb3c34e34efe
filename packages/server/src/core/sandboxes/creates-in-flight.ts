import type { SizeName } from '@mayfly/contract';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';
import type { BackgroundTasks } from '../scheduling/background-tasks.ts';

export interface CreateOutcome {
  readonly sandbox: SandboxRecord;
  /** False when an earlier create with the same idempotency key made the sandbox. */
  readonly created: boolean;
}

/** One create, from before its record exists until its caller is answered. */
export interface CreateInFlight {
  readonly size: SizeName;
  /** Cancels the launch and everything after it. */
  readonly abort: AbortController;
  /** Set once the create is admitted: from then on it counts towards the capacity of the host. */
  admitted: boolean;
}

interface Entry extends CreateInFlight {
  readonly outcome: Promise<CreateOutcome>;
}

/** The creates in flight in this process, by sandbox id. Others wait for them, cancel them, or leave their sandboxes alone. */
export class CreatesInFlight {
  readonly #background: BackgroundTasks;
  readonly #entries = new Map<string, Entry>();

  constructor(background: BackgroundTasks) {
    this.#background = background;
  }

  /** Runs a create, registered before its first step. It continues when its caller stops waiting. */
  run(
    { id, size }: { readonly id: string; readonly size: SizeName },
    create: (inFlight: CreateInFlight) => Promise<CreateOutcome>,
  ): Promise<CreateOutcome> {
    const { promise: outcome, resolve, reject } = Promise.withResolvers<CreateOutcome>();
    const entry: Entry = { size, abort: new AbortController(), admitted: false, outcome };
    this.#entries.set(id, entry);
    create(entry)
      .finally(() => this.#entries.delete(id))
      .then(resolve, reject);
    return this.#background.track(outcome);
  }

  /** How the create of this sandbox ends; undefined if it is not in flight. */
  outcomeOf(sandboxId: string): Promise<CreateOutcome> | undefined {
    return this.#entries.get(sandboxId)?.outcome;
  }

  has(sandboxId: string): boolean {
    return this.#entries.has(sandboxId);
  }

  /** The sandboxes whose creates are admitted, with their sizes. */
  admitted(): ReadonlyMap<string, SizeName> {
    const admitted = [...this.#entries].filter(([, entry]) => entry.admitted);
    return new Map(admitted.map(([id, { size }]) => [id, size]));
  }

  /** Cancels a create. Its caller is answered that provisioning failed. */
  cancel(sandboxId: string): void {
    this.#entries.get(sandboxId)?.abort.abort(new Error('the sandbox was deleted while it was provisioning'));
  }
}
