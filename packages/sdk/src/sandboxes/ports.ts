import type { Port } from '../api/resources.ts';
import { path, type RequestOptions } from '../http/connection.ts';
import type { SandboxCaller } from './sandbox-caller.ts';

/** The ports of a sandbox that are open on a public URL. */
export class Ports {
  readonly #caller: SandboxCaller;

  constructor(caller: SandboxCaller) {
    this.#caller = caller;
  }

  /** Opens a port, or returns the one that is open. Its server may listen on localhost only. */
  open(port: number, options: RequestOptions = {}): Promise<Port> {
    return this.#caller.request({ method: 'POST', path: '/ports', body: { port }, repeatable: true, ...options });
  }

  /** The open ports, oldest first. */
  async list(options: RequestOptions = {}): Promise<readonly Port[]> {
    const call = { method: 'GET', path: '/ports', repeatable: true, ...options } as const;
    return (await this.#caller.request<{ data: readonly Port[] }>(call)).data;
  }

  /** Closes a port. Its server keeps running. */
  async close(port: number, options: RequestOptions = {}): Promise<void> {
    await this.#caller.remove({ path: path`/ports/${port}`, ...options });
  }
}
