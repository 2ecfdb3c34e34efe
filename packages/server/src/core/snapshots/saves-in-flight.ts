import type { BackgroundTasks } from '../scheduling/background-tasks.ts';

/** What is known of a snapshot before it is saved. */
interface ExpectedSave {
  /** The disk space that the snapshot is expected to need. */
  readonly neededBytes: number;
  /** The account whose quota it will count towards; absent for a fork, whose snapshot is not kept. */
  readonly accountId?: string;
}

/** One snapshot that is taken, or saved for a fork, from before its first step until its caller is answered. */
export interface SaveInFlight extends ExpectedSave {
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
  run<T>(id: string, expected: ExpectedSave, work: (inFlight: SaveInFlight) => Promise<T>): Promise<T> {
    const { promise: outcome, resolve, reject } = Promise.withResolvers<T>();
    const entry: Entry = { ...expected, admitted: false, outcome };
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
    return bytesOf([...this.#entries.values()]);
  }

  /** The same of the snapshots that an account takes, except for the one with this id. */
  admittedBytesBeside(id: string, accountId: string): number {
    const others = [...this.#entries].filter(([other, entry]) => other !== id && entry.accountId === accountId);
    return bytesOf(others.map(([, entry]) => entry));
  }
}

function bytesOf(saves: readonly SaveInFlight[]): number {
  return saves.reduce((sum, save) => sum + (save.admitted ? save.neededBytes : 0), 0);
}
