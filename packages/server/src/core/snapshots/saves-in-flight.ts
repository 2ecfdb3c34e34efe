import type { BackgroundTasks } from '../scheduling/background-tasks.ts';

/** One snapshot that is taken, or saved for a fork, from before its first step until its caller is answered. */
export interface SaveInFlight {
  /** The disk space that the snapshot is expected to need. */
  readonly neededBytes: number;
  /** True from the admission of the snapshot until its files are complete: meanwhile it counts towards the disk space of the host. */
  admitted: boolean;
}

interface Entry extends SaveInFlight {
  readonly outcome: Promise<unknown>;
}

/** The snapshots that this process takes or saves for forks, by id. Repeated requests wait for them, and recovery leaves them alone. */
export class SavesInFlight {
  readonly #background: BackgroundTasks;
  readonly #ids: Set<string>;
  readonly #entries = new Map<string, Entry>();

  /** `ids` holds the ids of all snapshots that this process works on, and is kept up to date. */
  constructor(background: BackgroundTasks, ids: Set<string>) {
    this.#background = background;
    this.#ids = ids;
  }

  /** Does the work, registered before its first step. It continues when its caller stops waiting. */
  run<T>(id: string, neededBytes: number, work: (inFlight: SaveInFlight) => Promise<T>): Promise<T> {
    const { promise: outcome, resolve, reject } = Promise.withResolvers<T>();
    const entry: Entry = { neededBytes, admitted: false, outcome };
    this.#entries.set(id, entry);
    this.#ids.add(id);
    work(entry)
      .finally(() => {
        this.#entries.delete(id);
        this.#ids.delete(id);
      })
      .then(resolve, reject);
    return this.#background.track(outcome);
  }

  /** Settles as the work on this snapshot does; undefined if it is not in flight. */
  outcomeOf(id: string): Promise<unknown> | undefined {
    return this.#entries.get(id)?.outcome;
  }

  /** The disk space that the admitted snapshots are expected to need. */
  admittedBytes(): number {
    return [...this.#entries.values()].reduce((sum, entry) => sum + (entry.admitted ? entry.neededBytes : 0), 0);
  }
}
