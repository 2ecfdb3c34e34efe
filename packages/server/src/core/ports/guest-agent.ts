import type { Duplex, Readable } from 'node:stream';
import type { AgentChannel, Machine } from './machine-driver.ts';

/** What a machine is told when it becomes somebody's. The agent sets the clock from the host's at the moment of sending. */
export interface GuestIdentity {
  readonly hostname: string;
  /** 32 lower-case hex digits. */
  readonly machineId: string;
  /** Unix milliseconds; 0 for none. */
  readonly expiresAtMs: number;
}

export interface ExecuteRequest {
  readonly id: string;
  readonly command: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** How much of each stream is kept and returned, in bytes. */
  readonly captureBytes: number;
}

/** How a command ended, as the agent tells it. Output is raw bytes: decoding is the caller's. */
export interface ExecuteResult {
  readonly exitCode: number;
  readonly signal: number;
  readonly timedOut: boolean;
  readonly oomKilled: boolean;
  readonly durationMs: number;
  readonly startedAtMs: number;
  readonly finishedAtMs: number;
  readonly truncated: boolean;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

export interface GuestHello {
  readonly protocol: number;
  readonly version: string;
  readonly kernel: string;
  readonly bootMs: number;
}

export interface GuestFigures {
  readonly cpu: { readonly count: number; readonly userUs: number; readonly systemUs: number };
  readonly memory: { readonly totalBytes: number; readonly availableBytes: number };
  readonly disk: { readonly totalBytes: number; readonly freeBytes: number };
  readonly network: { readonly rxBytes: number; readonly txBytes: number };
  readonly processes: number;
  readonly uptimeMs: number;
}

/** One name in a directory of the guest, as its bytes. */
export interface GuestEntry {
  readonly name: Buffer;
  /** `other` is a device, socket or pipe. */
  readonly type: 'file' | 'dir' | 'symlink' | 'other';
  /** Of a regular file; null for everything else. */
  readonly sizeBytes: number | null;
}

export interface GuestListing {
  /** Sorted by the bytes of their names. */
  readonly entries: readonly GuestEntry[];
  /** Whether there are more than were asked for. */
  readonly truncated: boolean;
}

/** A refusal by the agent, with the code of docs/agent-protocol.md; nothing happened in the guest. */
export class GuestRefusal extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.name = 'GuestRefusal';
    this.code = code;
  }
}

/** The connection to the agent failed or was lost; what was asked may or may not have happened. */
export class GuestUnreachable extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'GuestUnreachable';
  }
}

/** This service let go of the machine, which stays alive: what runs in it goes on, and the next service picks it up. */
export class MachineLeft extends GuestUnreachable {
  constructor() {
    super('the service is stopping');
    this.name = 'MachineLeft';
  }
}

/** The host's end of one attached agent. Every call has a deadline; a lost connection fails all calls with GuestUnreachable. */
export interface GuestAgent {
  /** Settles when the connection is gone; never rejects. */
  readonly closed: Promise<void>;
  hello(): Promise<GuestHello>;
  /** Clock (checked, corrected until within 100 ms or tried three times), entropy, names, expiry. */
  setIdentity(identity: GuestIdentity): Promise<void>;
  /** When the machine ends itself if no host is there, as in the identity. */
  setExpiry(expiresAtMs: number): Promise<void>;
  /** Clock and entropy again, e.g. after a pause. */
  setClock(): Promise<void>;
  figures(): Promise<GuestFigures>;
  /** Runs a command to its end. Does not acknowledge: call forgetExecution once the result is stored. */
  execute(request: ExecuteRequest): Promise<ExecuteResult>;
  /** Picks up a command that an earlier connection started. */
  resumeExecution(id: string, captureBytes: number): Promise<ExecuteResult>;
  forgetExecution(id: string): Promise<void>;
  readFile(path: string, maxBytes: number): Promise<{ readonly sizeBytes: number; readonly content: Buffer }>;
  writeFile(
    path: string,
    content: Buffer | Readable,
    maxBytes: number,
  ): Promise<{ readonly path: string; readonly sizeBytes: number }>;
  listFiles(path: string, maxEntries: number): Promise<GuestListing>;
  /** Removes a file or symbolic link, or a directory with all that is in it. */
  deleteFile(path: string, recursive: boolean): Promise<void>;
  /** A connection to a port on the guest's own localhost; GuestRefusal `refused` if nothing listens there. It ends with the agent's. */
  openTunnel(port: number): Promise<Duplex>;
  close(): void;
}

/** Attaches to agents. `deadlineMs` is how long all of it may take; every failure is GuestUnreachable. */
export interface GuestConnector {
  /**
   * Opens the machine's channel, resynchronises, and answers only once the agent has answered. With an identity the first thing asked
   * is to take it, so that a new machine is somebody's without a round trip more.
   */
  attach(
    machine: Pick<Machine, 'id' | 'openAgentChannel'>,
    deadlineMs: number,
    identity?: GuestIdentity,
  ): Promise<GuestAgent>;
  /** The same over a channel that is already open. The agent takes it over: it is closed with the agent, and when attaching fails. */
  attachChannel(channel: AgentChannel, deadlineMs: number): Promise<GuestAgent>;
}
