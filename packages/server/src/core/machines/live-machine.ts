import type { GuestAgent, GuestConnector, GuestIdentity } from '../ports/guest-agent.ts';
import { GuestUnreachable, MachineLeft } from '../ports/guest-agent.ts';
import type { Machine } from '../ports/machine-driver.ts';

/** A machine of this process together with the connection to its agent. */
export class LiveMachine {
  readonly machine: Machine;
  readonly #connector: GuestConnector;
  readonly #attachMs: number;
  readonly #waiting = new Set<(reason: GuestUnreachable) => void>();
  #agent: Promise<GuestAgent> | undefined;
  #lost: GuestUnreachable | undefined;
  #destroying: Promise<void> | undefined;

  constructor(machine: Machine, connector: GuestConnector, attachMs: number) {
    this.machine = machine;
    this.#connector = connector;
    this.#attachMs = attachMs;
    void machine.exited.then((exit) => this.#lose(new GuestUnreachable(`the machine is gone: ${exit.reason}`)));
  }

  /** The machine's own id, which need not be its sandbox's. */
  get id(): string {
    return this.machine.id;
  }

  /** Whether it was told to go. */
  get doomed(): boolean {
    return this.#lost !== undefined;
  }

  /** The attached agent; attaches anew when the connection was lost, one attach at a time. */
  agent(): Promise<GuestAgent> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    this.#agent ??= this.#attach();
    return this.#agent;
  }

  /** Makes the machine somebody's; one that is not attached yet is told while it attaches. */
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

  /** The work's outcome, or GuestUnreachable as soon as the machine dies or is told to go. */
  whileAlive<T>(work: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    if (this.#lost === undefined) this.#waiting.add(reject);
    else reject(this.#lost);
    work.then(resolve, reject).finally(() => this.#waiting.delete(reject));
    return promise;
  }

  /** Fails everything that waits for it at once, then ends it. May be called again, e.g. after a failure. */
  destroy(): Promise<void> {
    this.#lose(new GuestUnreachable('the sandbox was stopped'));
    this.#destroying ??= this.machine.destroy().catch((error: unknown) => {
      this.#destroying = undefined;
      throw error;
    });
    return this.#destroying;
  }

  /** Fails everything that waits for it and lets go of the machine, which stays alive. */
  leave(): void {
    this.#lose(new MachineLeft());
    this.machine.leave();
  }

  async #attach(identity?: GuestIdentity): Promise<GuestAgent> {
    try {
      const attached = this.#connector.attach(this.machine, this.#attachMs, identity).then((agent) => {
        if (this.#lost !== undefined) agent.close();
        return agent;
      });
      const agent = await this.whileAlive(attached);
      void agent.closed.then(() => this.#forget());
      return agent;
    } catch (error) {
      this.#forget();
      throw error;
    }
  }

  #forget(): void {
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
