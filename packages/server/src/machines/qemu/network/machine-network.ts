import type { Holdings } from '../holdings.ts';
import type { EgressPolicy } from './egress/policy.ts';

/** The network of one machine. */
export interface MachineNetwork {
  readonly slot: number;
  /** Where QEMU's namespace is, for `nsenter --net=`. */
  readonly netnsPath: string;
  /** The tap in it that belongs to the machine's uid. */
  readonly tapName: string;
  /** Puts a policy in the place of the one before, for new and open connections, whole or not at all. */
  setEgress(policy: EgressPolicy): Promise<void>;
  /** Removes the network; end QEMU before. Safe to call more than once. */
  release(): Promise<void>;
}

/** A slot that is this service's alone on the whole host, and the uid that goes with it. */
export interface SlotLease {
  readonly slot: number;
  readonly uid: number;
}

/** Makes, adopts and removes the networks of machines. */
export interface NetworkPool {
  /** A new network for a leased slot; whatever was left in that slot is removed first. When it fails, what was made of it is held. */
  acquire(lease: SlotLease, holdings: Holdings, egress?: EgressPolicy): Promise<MachineNetwork>;
  /** The network of a machine that outlived an earlier service, with the policy it had. When it fails, it is held unless another owner has it. */
  adopt(slot: number, holdings: Holdings): Promise<MachineNetwork>;
  /** Discards this owner's networks that neither belong to a live slot nor were acquired from this pool. Returns how many. */
  sweep(liveSlots: ReadonlySet<number>, discard: (holdings: Holdings) => Promise<void>): Promise<number>;
  /** Ends name lookups; networks stay. The last pool of the host puts the host back as it was when no network is left. */
  close(): Promise<void>;
}
