import type { Duplex } from 'node:stream';
import type { SizeName } from '@mayfly/contract';

/** Why a machine ended. */
export interface MachineExit {
  /** True if destroy() was called, false if the machine ended on its own. */
  readonly requested: boolean;
  /** One line for the sandbox's owner, e.g. "qemu was killed by SIGKILL" or "the guest powered itself off". Reveals nothing of the host. */
  readonly reason: string;
  /** For the operator: what the machine's log said last. */
  readonly detail?: string | undefined;
}

/** The two byte streams to the agent of one machine. The caller that opens a channel closes it. */
export interface AgentChannel {
  readonly control: Duplex;
  readonly data: Duplex;
  close(): void;
}

/** Where a machine may connect to, in addition to the fixed rules: anywhere, nowhere, or these IPv4 addresses, CIDRs, names and `*.names`. */
export type EgressPolicy = 'all' | 'none' | { readonly allow: readonly string[] };

/** What a machine holds of the host, in bytes. Its end gives it back. */
export interface MachineUsage {
  readonly memoryBytes: number;
  readonly diskBytes: number;
}

/** A file that a snapshot holds on disk. Snapshots of one line share files: the same id is the same file. */
export interface SnapshotFile {
  readonly id: string;
  readonly bytes: number;
}

/** A saved machine, complete and on disk. */
export interface StoredSnapshot {
  /** The id it was saved under. */
  readonly id: string;
  readonly size: SizeName;
  /** The files that belong to snapshots; the files of the template below are not listed. */
  readonly files: readonly SnapshotFile[];
}

export interface SaveResult {
  readonly snapshot: StoredSnapshot;
  /** How long the virtual CPUs stood still. */
  readonly pausedMs: number;
}

/** One virtual machine. Every method has its own deadline and fails rather than hangs. */
export interface Machine {
  /** The id it was launched under. */
  readonly id: string;
  readonly size: SizeName;
  /** Resolves when the machine is gone, for whatever reason; never rejects. */
  readonly exited: Promise<MachineExit>;
  /** Connects both agent ports. A machine has one channel at a time: close the old one first. */
  openAgentChannel(signal?: AbortSignal): Promise<AgentChannel>;
  /** Stops the virtual CPUs; memory and disk are kept. Does nothing if the machine is paused. */
  pause(): Promise<void>;
  /** Starts the virtual CPUs again. Does nothing if the machine is running. */
  resume(): Promise<void>;
  /** Replaces the policy, for new and open connections. */
  setEgress(policy: EgressPolicy): Promise<void>;
  usage(): Promise<MachineUsage>;
  /**
   * Saves memory and disk of one instant under an id that matches machineIdPattern. The machine goes on, except for a short pause. When this fails, nothing of
   * the snapshot is left and the machine goes on. One save at a time. Throws HostFull when the disk has no room for it.
   */
  save(snapshotId: string): Promise<SaveResult>;
  /** Lets go of the machine, which keeps running until the next start adopts it. */
  detach(): void;
  /** Ends the machine for good and releases all its resources on the host. May be called at any time and more than once. */
  destroy(): Promise<void>;
}

/** The id of a machine. Never begins like an option of a command line. */
export const machineIdPattern: RegExp = /^[a-z0-9][a-z0-9_-]{0,63}$/;

export interface LaunchRequest {
  /** Unique for the life of the data folder; matches machineIdPattern. */
  readonly id: string;
  readonly size: SizeName;
  /** The snapshot to restore, of the same size; the template of the size when absent. */
  readonly snapshotId?: string | undefined;
  /** 'all' when absent. */
  readonly egress?: EgressPolicy;
  readonly signal?: AbortSignal;
}

/**
 * The process that runs the machines cannot be reached at the moment. Machines keep running and their agents keep answering. Whether the call took
 * effect is unknown; it can be repeated.
 */
export class HostUnavailable extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'HostUnavailable';
  }
}

/** The process that runs the machines refuses another one: it has too many, or too little is left of the host. */
export class HostFull extends Error {
  override readonly name = 'HostFull';
}

/** The snapshot does not exist on this host, or cannot run here. The message says why and is meant for the snapshot's owner. */
export class SnapshotUnusable extends Error {
  override readonly name = 'SnapshotUnusable';
}

/** What runs the machines, for the log. */
export interface DriverDescription {
  readonly engine: string;
  /** "kvm", "tcg" or "none" (the fake). */
  readonly acceleration: string;
}

/** The snapshots on disk. */
export interface SnapshotFiles {
  /** All snapshots, in the order of their ids. One that is being saved is not among them. */
  snapshots(): Promise<readonly StoredSnapshot[]>;
  /** Removes a snapshot. Machines and snapshots that were made from it keep the files they need. Succeeds for one that does not exist. */
  deleteSnapshot(id: string): Promise<void>;
}

/** An engine that starts machines from prepared templates. Disposing releases what it holds besides its machines, which keep running for the next start to adopt. */
export interface MachineDriver extends SnapshotFiles, AsyncDisposable {
  describe(): DriverDescription;
  /** Whether machines can be launched and changed now. While it is false, those calls fail with HostUnavailable. */
  isAvailable(): boolean;
  /** How much more memory all machines together may take, in bytes; infinite without a limit. Includes every change that was answered and every exit that was reported. */
  memoryLeftBytes(): number;
  /**
   * Launches a machine from the template of its size or from a snapshot, with its virtual CPUs running and its agent not attached. Leaves nothing behind on
   * failure. Throws SnapshotUnusable.
   */
  launch(request: LaunchRequest): Promise<Machine>;
  /**
   * Takes over the machines that the previous run left running and cleans up everything else it left. Called once, before any launch.
   */
  adopt(): Promise<readonly Machine[]>;
}
