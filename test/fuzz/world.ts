import type { Incoming } from '../support/conformance/exchange.ts';
import type { FuzzRequest } from './fuzz-request.ts';

/** What exists on the service while it is fuzzed. */
export class World {
  /** Sandboxes that stay. */
  readonly #live: readonly string[];
  /** Sandboxes that were created on the way and may be deleted. */
  readonly #victims: string[] = [];
  readonly #gone: string[] = ['sbx_unknown'];
  readonly #executions: string[] = ['exec_unknown'];

  constructor(live: readonly string[]) {
    this.#live = live;
  }

  /** Puts ids in the place of `@live3@`, `@victim3@`, `@gone3@`, `@execution3@`. */
  resolve(request: FuzzRequest): FuzzRequest {
    const target = request.target.replaceAll(/@(live|victim|gone|execution)(\d+)@/g, (_, kind: string, at: string) => {
      const ids = { live: this.#live, victim: this.#victims, gone: this.#gone, execution: this.#executions }[kind];
      return ids?.[Number(at) % ids.length] ?? 'sbx_none';
    });
    return { ...request, target };
  }

  /** Learns from an answer what there is now. */
  learn({ method, target }: FuzzRequest, { status, text }: Incoming): void {
    if (status >= 300) return;
    const id = /"id":"([^"]+)"/.exec(text)?.[1];
    if (method === 'POST' && target === '/sandboxes' && id) this.#victims.push(id);
    if (method === 'POST' && target.endsWith('/exec') && id) this.#executions.push(id);
    const [, deleted] = /^\/sandboxes\/([^/?]+)$/.exec(target) ?? [];
    if (method !== 'DELETE' || deleted === undefined) return;
    const at = this.#victims.indexOf(deleted);
    if (at >= 0) this.#victims.splice(at, 1);
    this.#gone.push(deleted);
  }
}
