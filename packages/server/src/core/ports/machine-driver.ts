import type { Duplex } from 'node:stream';
import type { SizeName } from '@mayfly/contract';

/** Why a machine is gone. `requested` means destroy() was called; everything else happened to it. */
export interface MachineExit {
  readonly requested: boolean;
  /** One line for people, e.g. "qemu was killed by SIGKILL" or "the guest powered itself off". */
  readonly reason: string;
}

/** The two byte streams to the agent of one machine. Whoever opens a channel closes it. */
export interface AgentChannel {
  readonly control: Duplex;
  readonly data: Duplex;
  close(): void;
}

/** Where a machine may connect to, below the fixed refusals: everywhere, nowhere, or these IPv4 addresses, CIDRs, names and `*.names`. */
export type EgressPolicy = 'all' | 'none' | { readonly allow: readonly string[] };

/** One virtual machine. Every method has a deadline of its own and fails rather than hangs. */
export interface Machine {
  /** The id it was launched under. */
  readonly id: string;
  readonly size: SizeName;
  /** Settles once, when the machine is gone for whatever reason; never rejects. */
  readonly exited: Promise<MachineExit>;
  /** Connects both agent ports. A machine takes one channel at a time; a new one replaces nothing, so close the old one first. */
  openAgentChannel(signal?: AbortSignal): Promise<AgentChannel>;
  /** Stops the virtual CPUs; memory and disk stay. Pausing a paused machine is no error. */
  pause(): Promise<void>;
  /** Lets the virtual CPUs go on. Resuming a running machine is no error. */
  resume(): Promise<void>;
  /** Puts a policy in the place of the one before, for new and open connections. */
  setEgress(policy: EgressPolicy): Promise<void>;
  /** Lets go of the machine without touching it, for the next run to adopt. */
  leave(): void;
  /** Ends the machine and removes everything it held on the host. Safe to call more than once and at any time. */
  destroy(): Promise<void>;
}

export interface LaunchRequest {
  /** Unique for the life of the data folder; [a-z0-9_-]{1,64}. */
  readonly id: string;
  readonly size: SizeName;
  /** 'all' when absent. */
  readonly egress?: EgressPolicy;
  readonly signal?: AbortSignal;
}

/** What an engine can do; ask before using a feature. */
export interface DriverCapabilities {
  readonly engine: string;
  /** "kvm", "tcg" or "none" (the fake). */
  readonly acceleration: string;
  readonly pause: boolean;
  readonly snapshot: boolean;
  readonly adopt: boolean;
  readonly network: boolean;
}

/** An engine that makes machines out of prepared templates. */
export interface MachineDriver {
  capabilities(): DriverCapabilities;
  /** A machine restored from its size's template, virtual CPUs running, agent not yet spoken to. Leaves nothing behind when it fails. */
  launch(request: LaunchRequest): Promise<Machine>;
  /**
   * The machines that an earlier run left alive, taken over; whatever else it left behind is cleared away. Called once, before any launch.
   */
  adopt(): Promise<readonly Machine[]>;
  /** Gives up what the engine holds besides its machines. Those stay alive for the next run. */
  close(): Promise<void>;
}
