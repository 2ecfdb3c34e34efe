import type { GuestAgent, GuestConnector, GuestIdentity } from '../ports/guest-agent.ts';
import { GuestUnreachable, MachineDetached } from '../ports/guest-agent.ts';
import type { Machine } from '../ports/machine-driver.ts';

/** A machine together with the connection to its agent. */
export class LiveMachine {
  readonly machine: Machine;
  readonly #connector: GuestConnector;
  readonly #attachMs: number;
  readonly #waiting = new Set<(reason: GuestUnreachable) => void>();
  #agent: Promise<GuestAgent> | undefined;
  #lost: GuestUnreachable | undefined;
  #destroying: Promise<void> | undefined;
  #expiresAtMs = 0;
  #sendingExpiry: Promise<void> | undefined;

  constructor(machine: Machine, connector: GuestConnector, attachMs: number) {
    this.machine = machine;
    this.#connector = connector;
    this.#attachMs = attachMs;
    void machine.exited.then((exit) => this.#lose(new GuestUnreachable(`the machine is gone: ${exit.reason}`)));
  }

  /** The machine's own id. A machine from the pool has another id than its sandbox. */
  get id(): string {
    return this.machine.id;
  }

  /** Whether the machine has exited, is being destroyed, or was detached. */
  get isLost(): boolean {
    return this.#lost !== undefined;
  }

  /** Whether the service let go of the machine, which keeps running, because it stops. */
  get isDetached(): boolean {
    return this.#lost instanceof MachineDetached;
  }

  /** The attached agent. Attaches first if there is no connection; concurrent callers share one attach. */
  agent(): Promise<GuestAgent> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    this.#agent ??= this.#attach();
    return this.#agent;
  }

  /** Gives the machine the identity of a sandbox. If it is not attached yet, the attach carries the identity. */
  async claim(identity: GuestIdentity): Promise<GuestAgent> {
    if (this.#lost !== undefined) throw this.#lost;
    if (this.#agent === undefined) {
      this.#agent = this.#attach(identity);
      return this.#agent;
    }
    const agent = await this.#agent;
    await this.whileAlive(agent.setIdentity(identity));
    return agent;
  }

  /** Tells the agent when the machine expires. An expiry only moves later, so the latest of concurrent calls wins. */
  setExpiry(expiresAtMs: number): Promise<void> {
    this.#expiresAtMs = Math.max(this.#expiresAtMs, expiresAtMs);
    this.#sendingExpiry ??= this.#sendExpiry();
    return this.#sendingExpiry;
  }

  /** The result of the work, or GuestUnreachable as soon as the machine is lost. */
  whileAlive<T>(work: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    if (this.#lost === undefined) this.#waiting.add(reject);
    else reject(this.#lost);
    work.then(resolve, reject).finally(() => this.#waiting.delete(reject));
    return promise;
  }

  /** Fails all pending work at once, for this reason: another machine takes its place. The machine itself has to be destroyed. */
  retire(reason: string): void {
    this.#lose(new GuestUnreachable(reason));
  }

  /** Fails all pending work at once, then destroys the machine. Can be called again after a failure. */
  destroy(): Promise<void> {
    this.#lose(new GuestUnreachable('the sandbox was stopped'));
    this.#destroying ??= this.machine.destroy().catch((error: unknown) => {
      this.#destroying = undefined;
      throw error;
    });
    return this.#destroying;
  }

  /** Fails all pending work and lets go of the machine, which keeps running. */
  detach(): void {
    this.#lose(new MachineDetached());
    this.machine.detach();
  }

  async #attach(identity?: GuestIdentity): Promise<GuestAgent> {
    try {
      const attached = this.#connector.attach(this.machine, this.#attachMs, identity).then((agent) => {
        if (this.#lost !== undefined) agent.close();
        return agent;
      });
      const agent = await this.whileAlive(attached);
      void agent.closed.then(() => this.#dropAgent());
      return agent;
    } catch (error) {
      this.#dropAgent();
      throw error;
    }
  }

  async #sendExpiry(): Promise<void> {
    try {
      for (let sentMs = -1; sentMs !== this.#expiresAtMs; ) {
        const agent = await this.agent();
        sentMs = this.#expiresAtMs;
        await this.whileAlive(agent.setExpiry(sentMs));
      }
    } finally {
      this.#sendingExpiry = undefined;
    }
  }

  #dropAgent(): void {
    this.#agent = undefined;
  }

  #lose(reason: GuestUnreachable): void {
    if (this.#lost !== undefined) return;
    this.#lost = reason;
    for (const reject of this.#waiting) reject(this.#lost);
    this.#waiting.clear();
    this.#agent?.then(
      (agent) => agent.close(),
      () => {},
    );
  }
}
