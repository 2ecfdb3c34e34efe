import type { Duplex } from 'node:stream';
import type { Machine } from './machine-driver.ts';
import type { TerminalSize } from './screens.ts';

/** What a machine is told when it is assigned to a sandbox. The clock is set from the host's at the moment of sending. */
export interface GuestIdentity {
  readonly hostname: string;
  /** 32 lower-case hex digits. */
  readonly machineId: string;
  /** Unix milliseconds; 0 for no expiry. */
  readonly expiresAtMs: number;
}

export interface ExecuteRequest {
  readonly id: string;
  readonly command: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** The maximum number of bytes of each stream that are captured and returned. */
  readonly captureBytes: number;
  readonly reserve?: Reserve | undefined;
}

/** A command whose output is read while it runs. */
export interface LiveRequest extends Omit<ExecuteRequest, 'reserve'> {
  /** Zero for none. */
  readonly timeoutMs: number;
  /** How much of its latest output the agent keeps for readers, on the disk of the guest. */
  readonly spoolBytes: number;
  /** Whether its standard input can be written to; empty otherwise. */
  readonly stdin: boolean;
}

/** What a reader of a live command gets: bytes of a stream, how much was dropped before it could be read, or the end. */
export type LivePart =
  | { readonly kind: 'stdout' | 'stderr'; readonly bytes: Buffer }
  | { readonly kind: 'gap'; readonly lostBytes: number }
  | { readonly kind: 'ended' };

/**
 * The output of a live command, in the order in which the agent read it, as fast as it is consumed. It can be iterated once. Throws
 * GuestUnreachable when the connection is lost.
 */
export interface LiveOutput extends AsyncIterable<LivePart> {
  /** Ends the reading, also one in progress. The command goes on. */
  close(): void;
}

/**
 * What a viewer of a terminal gets: first the position at which the output begins and where it ended at that moment, then output, the sizes that it
 * was printed for, and how the shell ended.
 */
export type TerminalPart =
  | { readonly kind: 'position'; readonly position: number; readonly end: number }
  | { readonly kind: 'output'; readonly bytes: Buffer }
  | { readonly kind: 'size'; readonly size: TerminalSize }
  | { readonly kind: 'exit'; readonly exitCode: number };

/** A terminal in both directions. It can be iterated once. Throws GuestUnreachable when the connection is lost; the terminal goes on. */
export interface TerminalChannel extends AsyncIterable<TerminalPart> {
  /** Resolves once more may be typed: the shell may not read. Rejects with GuestUnreachable when the connection is lost. */
  type(bytes: Uint8Array): Promise<void>;
  resize(size: TerminalSize): void;
  /** Ends the viewing, also one in progress. */
  close(): void;
}

/**
 * Reserves memory for a large answer while the service collects it: `bytes` in all, what was reserved before included. False if there is none
 * now, which ends the call with NoRoom. Answers up to 32 KiB do not ask.
 */
export type Reserve = (bytes: number) => boolean;

/** The service has no room for a large answer now. The call can be repeated; the result of a command stays with the agent. */
export class NoRoom extends Error {
  readonly neededBytes: number;
  constructor(neededBytes: number) {
    super(`no room for an answer of up to ${neededBytes} bytes`);
    this.name = 'NoRoom';
    this.neededBytes = neededBytes;
  }
}

/** How a command ended, as reported by the agent. Output is raw bytes; the caller decodes it. */
export interface ExecuteResult {
  readonly exitCode: number;
  readonly timedOut: boolean;
  readonly oomKilled: boolean;
  readonly durationMs: number;
  readonly truncated: boolean;
  /** All bytes that the command wrote to both streams, captured or not. */
  readonly writtenBytes: number;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

export interface GuestHello {
  readonly protocol: number;
  readonly bootMs: number;
}

export interface GuestStats {
  readonly cpu: { readonly count: number; readonly userUs: number; readonly systemUs: number };
  readonly memory: { readonly totalBytes: number; readonly availableBytes: number };
  readonly disk: { readonly totalBytes: number; readonly freeBytes: number };
  readonly network: { readonly rxBytes: number; readonly txBytes: number };
  readonly processes: number;
  readonly uptimeMs: number;
}

/** One entry of a directory in the guest. The name is raw bytes. */
export interface GuestEntry {
  readonly name: Buffer;
  /** `other` is a device, socket or pipe. */
  readonly type: 'file' | 'dir' | 'symlink' | 'other';
  /** Null unless it is a regular file. */
  readonly sizeBytes: number | null;
}

export interface GuestListing {
  /** Sorted by the bytes of their names. */
  readonly entries: readonly GuestEntry[];
  /** Whether the directory has more entries than were requested. */
  readonly truncated: boolean;
}

/** A call that the agent refused, with a code of docs/agent-protocol.md. Nothing happened in the guest. */
export class GuestRefusal extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.name = 'GuestRefusal';
    this.code = code;
  }
}

/** The connection to the agent failed or was lost. The call may or may not have taken effect. */
export class GuestUnreachable extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'GuestUnreachable';
  }
}

/** The service detached from the machine, which keeps running. Its commands continue, and the next start collects their results. */
export class MachineDetached extends GuestUnreachable {
  constructor() {
    super('the service is stopping');
    this.name = 'MachineDetached';
  }
}

/** The service's side of one attached agent. Every call has a deadline; a lost connection fails all calls with GuestUnreachable. */
export interface GuestAgent {
  /** Resolves when the connection is gone; never rejects. */
  readonly closed: Promise<void>;
  hello(): Promise<GuestHello>;
  /** Sets clock (verified, at most three tries to get within 100 ms), entropy, hostname, machine id and expiry. */
  setIdentity(identity: GuestIdentity): Promise<void>;
  /** Sets when the machine powers itself off if no service is connected. */
  setExpiry(expiresAtMs: number): Promise<void>;
  /** Sets clock and entropy again, e.g. after a pause. */
  setClock(): Promise<void>;
  stats(): Promise<GuestStats>;
  /** Runs a command to its end. Does not acknowledge: call forgetExecution once the result is stored. */
  execute(request: ExecuteRequest): Promise<ExecuteResult>;
  /** Waits for the result of a command that an earlier connection started. */
  resumeExecution(id: string, captureBytes: number, reserve?: Reserve): Promise<ExecuteResult>;
  forgetExecution(id: string): Promise<void>;
  /** Starts a command and reads its output from the beginning. */
  startLive(request: LiveRequest): Promise<LiveOutput>;
  /** Reads the output of a live command after this many bytes of both streams. */
  continueLive(id: string, afterBytes: number): Promise<LiveOutput>;
  /** Waits for the end of a live command, however long that takes, and only then collects its captured output. */
  awaitLiveEnd(id: string, captureBytes: number, reserve?: Reserve): Promise<ExecuteResult>;
  /** Accepts all of the bytes or none. GuestRefusal: `too_many` if the command does not read, `refused` if its stdin is closed, `bad_request` if it has none. */
  writeStdin(id: string, bytes: Uint8Array, close: boolean): Promise<void>;
  /** Starts a login shell on a terminal and views it. GuestRefusal: `exists`, `too_many`, `bad_cwd`. */
  startTerminal(id: string, size: TerminalSize, cwd: string): Promise<TerminalChannel>;
  /** Views a terminal after this many bytes of its output, or from the oldest that is kept. GuestRefusal `not_found` if it has ended. */
  viewTerminal(id: string, afterBytes: number): Promise<TerminalChannel>;
  /** The ids of the terminals that are running, as the guest claims. */
  listTerminals(): Promise<readonly string[]>;
  /** Hangs up a terminal. Resolves even if the agent does not know it. */
  endTerminal(id: string): Promise<void>;
  /** Sends a signal to all processes of a command. GuestRefusal `refused` if it has ended. */
  signalExecution(id: string, signal: number): Promise<void>;
  readFile(path: string, maxBytes: number, reserve?: Reserve): Promise<Buffer>;
  writeFile(path: string, content: Buffer, maxBytes: number): Promise<{ readonly sizeBytes: number }>;
  listFiles(path: string, maxEntries: number, reserve?: Reserve): Promise<GuestListing>;
  /** Deletes a file, a symbolic link, or a directory with its contents. */
  deleteFile(path: string, recursive: boolean): Promise<void>;
  /** Connects to a port on the guest's localhost; GuestRefusal `refused` if nothing is listening. Closed together with the agent. */
  openTunnel(port: number): Promise<Duplex>;
  close(): void;
}

/** Attaches to agents. `deadlineMs` limits the whole attach; every failure is a GuestUnreachable. */
export interface GuestConnector {
  /**
   * Opens the machine's channel, synchronises, and resolves once the agent has answered. With an identity, the first call sets it, so
   * that assigning a new machine costs no extra round trip. The channel is closed together with the agent, and when attaching fails.
   */
  attach(
    machine: Pick<Machine, 'id' | 'openAgentChannel'>,
    deadlineMs: number,
    identity?: GuestIdentity,
  ): Promise<GuestAgent>;
}
