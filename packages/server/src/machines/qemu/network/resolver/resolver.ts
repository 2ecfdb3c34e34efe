import { setTimeout as wait } from 'node:timers/promises';
import type { Log } from '../../../../core/ports/log.ts';
import type { CompiledEgress } from '../egress/compile.ts';
import { gatewayAddress } from '../plan/address-plan.ts';
import { egressRuleset } from '../rules/egress-ruleset.ts';
import { ResolverGone, ResolverProcess } from './process.ts';

export interface ResolverOptions {
  readonly helperPath: string;
  readonly resolvConfPath: string;
  readonly log: Log;
}

interface Served {
  readonly netnsPath: string;
  readonly egress: CompiledEgress;
}

/** How long to wait before the helper is started again after it died young, in milliseconds; doubles up to the longest. */
const shortestPauseMs = 50;
const longestPauseMs = 5_000;
/** A helper that lived this long did not die young, in milliseconds. */
const longLifeMs = 10_000;

const add = (process: ResolverProcess, slot: number, { netnsPath, egress }: Served): Promise<void> =>
  process.ask({
    op: 'add',
    slot,
    netns: netnsPath,
    listen: `${gatewayAddress}:53`,
    mode: egress.mode,
    names: egress.names,
  });

/** Name lookups for all machines of a service. The helper that does the work is started again when it dies, and told all again. */
export class Resolver {
  readonly #options: ResolverOptions;
  readonly #served = new Map<number, Served>();
  readonly #closing = new AbortController();
  #current: Promise<ResolverProcess>;
  #pauseMs = shortestPauseMs;

  constructor(options: ResolverOptions) {
    this.#options = options;
    this.#current = this.#start();
    this.#current.catch(() => {});
  }

  async #start(): Promise<ResolverProcess> {
    const startedAtMs = performance.now();
    const process = new ResolverProcess(this.#options.helperPath, this.#options.resolvConfPath);
    void process.ended.then((lastWords) => {
      if (this.#closing.signal.aborted) return;
      this.#options.log.error({ lastWords }, 'resolver_died');
      const livedMs = performance.now() - startedAtMs;
      this.#pauseMs = livedMs > longLifeMs ? shortestPauseMs : Math.min(longestPauseMs, this.#pauseMs * 2);
      this.#current = wait(this.#pauseMs, undefined, { signal: this.#closing.signal }).then(() => this.#start());
      this.#current.catch(() => {});
    });
    for (const [slot, served] of this.#served) {
      await add(process, slot, served).catch((error: unknown) => {
        if (error instanceof ResolverGone) throw error;
        this.#options.log.error({ slot, error }, 'resolver_add_failed');
      });
    }
    return process;
  }

  /** Does something with the helper, and once more with the next one when it dies meanwhile. */
  async #withHelper(work: (process: ResolverProcess) => Promise<void>): Promise<void> {
    try {
      await work(await this.#current);
    } catch (error) {
      if (!(error instanceof ResolverGone) || this.#closing.signal.aborted) throw error;
      await work(await this.#current);
    }
  }

  /** The helper's process id. */
  async pid(): Promise<number | undefined> {
    return (await this.#current).pid;
  }

  /** Answers lookups in a namespace from now on. Its rules stay as they are. */
  async serve(slot: number, netnsPath: string, egress: CompiledEgress): Promise<void> {
    const served = { netnsPath, egress };
    await this.#withHelper((process) => add(process, slot, served));
    this.#served.set(slot, served);
  }

  /** Changes what a machine may look up and where it may connect to, as one. When it fails, the old policy holds. */
  async setEgress(slot: number, egress: CompiledEgress): Promise<void> {
    const served = this.#served.get(slot);
    if (!served) throw new Error(`slot ${slot} has no resolver`);
    const { mode, names } = egress;
    const transaction = egressRuleset(egress);
    await this.#withHelper((process) => process.ask({ op: 'policy', slot, mode, names, transaction }));
    this.#served.set(slot, { ...served, egress });
  }

  /** Stops answering in a namespace, so that nothing of the helper keeps it alive. */
  async forget(slot: number): Promise<void> {
    this.#served.delete(slot);
    if (this.#closing.signal.aborted) return;
    await this.#withHelper((process) => process.ask({ op: 'remove', slot })).catch((error: unknown) => {
      if (!(error instanceof ResolverGone)) throw error;
    });
  }

  /** Ends the helper. Machines that live on have no name lookup until the next service adopts them. */
  async close(): Promise<void> {
    this.#closing.abort();
    const process = await this.#current.catch(() => undefined);
    await process?.end();
  }
}
