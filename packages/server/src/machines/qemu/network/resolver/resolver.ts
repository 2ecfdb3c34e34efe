import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../../../core/ports/runtime.ts';
import { Backoff } from '../../../../core/scheduling/backoff.ts';
import type { CompiledEgress } from '../../../egress/egress-policy.ts';
import { gatewayAddress } from '../plan/address-plan.ts';
import { egressRuleset } from '../rules/egress-ruleset.ts';
import { ResolverExited, ResolverProcess, type ResolverSettings } from './resolver-process.ts';

export interface ResolverOptions extends ResolverSettings {
  readonly helperPath: string;
  readonly log: Log;
}

interface ServedSlot {
  readonly netnsPath: string;
  readonly egress: CompiledEgress;
}

/** A helper that ran for this long is restarted with the shortest pause. */
const stableAfterMs = 10_000;

export const restartPauses = { firstMs: 50, longestMs: 5_000 };

/** Answers the name lookups of all machines of a host process. Restarts its helper process when that exits, with all slots it served. */
export class Resolver implements AsyncDisposable {
  readonly #options: ResolverOptions;
  readonly #served = new Map<number, ServedSlot>();
  readonly #closing = new AbortController();
  readonly #backoff = new Backoff(restartPauses);
  #current: Promise<ResolverProcess>;

  constructor(options: ResolverOptions) {
    this.#options = options;
    this.#current = this.#start();
    this.#current.catch(() => {});
  }

  async #start(): Promise<ResolverProcess> {
    const { helperPath, log } = this.#options;
    const startedAtMs = performance.now();
    const process = new ResolverProcess(helperPath, this.#options);
    void process.exited.then((lastOutput) => {
      if (this.#closing.signal.aborted) return;
      log.error({ last_output: lastOutput }, 'resolver_exited');
      if (performance.now() - startedAtMs > stableAfterMs) this.#backoff.reset();
      this.#current = delay(this.#backoff.nextMs(), undefined, { signal: this.#closing.signal }).then(() =>
        this.#start(),
      );
      this.#current.catch(() => {});
    });
    await Promise.all(
      [...this.#served].map(([slot, served]) =>
        addSlot(process, slot, served).catch((err: unknown) => {
          if (err instanceof ResolverExited) throw err;
          log.error({ slot, err }, 'resolver_add_failed');
        }),
      ),
    );
    return process;
  }

  /** Retries once with the next helper if the current one exits meanwhile. */
  async #withHelper(work: (process: ResolverProcess) => Promise<void>): Promise<void> {
    try {
      await work(await this.#current);
    } catch (error) {
      if (!(error instanceof ResolverExited) || this.#closing.signal.aborted) throw error;
      await work(await this.#current);
    }
  }

  /** Starts to answer lookups in a namespace. Does not change its rules. */
  async serve(slot: number, netnsPath: string, egress: CompiledEgress): Promise<void> {
    const served = { netnsPath, egress };
    await this.#withHelper((process) => addSlot(process, slot, served));
    this.#served.set(slot, served);
  }

  /** Changes the names a machine may look up and the addresses it may connect to, atomically. When it fails, the old policy stays in force. */
  async setEgress(slot: number, egress: CompiledEgress): Promise<void> {
    const served = this.#served.get(slot);
    if (!served) throw new Error(`The resolver does not serve slot ${slot}.`);
    const { mode, names } = egress;
    const transaction = egressRuleset(egress);
    await this.#withHelper((process) => process.request({ op: 'policy', slot, mode, names, transaction }));
    this.#served.set(slot, { ...served, egress });
  }

  /** Stops serving a namespace and closes the helper's sockets in it, so that they do not keep it alive. */
  async forget(slot: number): Promise<void> {
    this.#served.delete(slot);
    if (this.#closing.signal.aborted) return;
    await this.#withHelper((process) => process.request({ op: 'remove', slot })).catch((error: unknown) => {
      if (!(error instanceof ResolverExited)) throw error;
    });
  }

  /** Stops the helper. Machines that keep running cannot look names up until another host process adopts them. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    const process = await this.#current.catch(() => undefined);
    await process?.[Symbol.asyncDispose]();
  }
}

function addSlot(process: ResolverProcess, slot: number, { netnsPath, egress }: ServedSlot): Promise<void> {
  const { mode, names } = egress;
  return process.request({ op: 'add', slot, netns: netnsPath, listen: `${gatewayAddress}:53`, mode, names });
}
