import type { SandboxRecord } from '../ports/store/sandbox-store.ts';

export interface CreateOutcome {
  readonly sandbox: SandboxRecord;
  /** False when an earlier create with the same key made it. */
  readonly created: boolean;
}

interface Creation {
  readonly outcome: Promise<CreateOutcome>;
  readonly abort: AbortController;
}

/** The creates under way in this process, by sandbox id, so that others can wait for them or call them off. */
export class Creations {
  readonly #underWay = new Map<string, Creation>();

  /** Runs a create; it is known here before its first step. */
  run(sandboxId: string, create: (abort: AbortController) => Promise<CreateOutcome>): Promise<CreateOutcome> {
    const abort = new AbortController();
    const { promise, resolve, reject } = Promise.withResolvers<CreateOutcome>();
    this.#underWay.set(sandboxId, { outcome: promise, abort });
    create(abort)
      .finally(() => this.#underWay.delete(sandboxId))
      .then(resolve, reject);
    return promise;
  }

  outcomeOf(sandboxId: string): Promise<CreateOutcome> | undefined {
    return this.#underWay.get(sandboxId)?.outcome;
  }

  /** Tells the create to stop; it still answers its caller. */
  callOff(sandboxId: string): void {
    this.#underWay.get(sandboxId)?.abort.abort(new Error('the sandbox was deleted while it was provisioning'));
  }
}
