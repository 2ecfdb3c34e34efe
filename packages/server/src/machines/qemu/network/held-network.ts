import type { EgressPolicy } from './egress/policy.ts';
import type { MachineNetwork } from './machine-network.ts';
import { tapName } from './plan/address-plan.ts';

/** What a network asks its pool to do. */
export interface HeldNetworkActions {
  setEgress(policy: EgressPolicy): Promise<void>;
  remove(): Promise<void>;
}

/** A network in the hands of a machine: changes happen one after another, and none after the release. */
export class HeldNetwork implements MachineNetwork {
  readonly slot: number;
  readonly netnsPath: string;
  readonly tapName = tapName;
  readonly #actions: HeldNetworkActions;
  #last: Promise<unknown> = Promise.resolve();
  #isReleased = false;

  constructor(slot: number, netnsPath: string, actions: HeldNetworkActions) {
    this.slot = slot;
    this.netnsPath = netnsPath;
    this.#actions = actions;
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }

  setEgress(policy: EgressPolicy): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#isReleased) throw new Error(`the network of slot ${this.slot} was released`);
      await this.#actions.setEgress(policy);
    });
  }

  release(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#isReleased) return;
      await this.#actions.remove();
      this.#isReleased = true;
    });
  }
}
