import {
  type ExecuteRequest,
  type ExecuteResult,
  type GuestAgent,
  type GuestConnector,
  type GuestIdentity,
  GuestRefusal,
  GuestUnreachable,
} from '../../src/core/ports/guest-agent.ts';
import { StubFiles } from './stub-files.ts';
import { StubLive } from './stub-live.ts';
import { StubTerminals } from './stub-terminals.ts';

/** Returns the result of a stubbed command. */
export type StubCommand = (request: ExecuteRequest) => Promise<ExecuteResult>;

/** The result of a successful command, with overrides. */
export function resultOf(overrides: Partial<ExecuteResult> = {}): ExecuteResult {
  const output = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0), truncated: false, writtenBytes: 0 };
  return { exitCode: 0, timedOut: false, oomKilled: false, durationMs: 1, ...output, ...overrides };
}

/** Agents whose commands are controlled by a test. Records attaches, identities, expiries and acknowledged executions. */
export class StubConnector implements GuestConnector {
  command: StubCommand = async ({ command }) => resultOf({ stdout: Buffer.from(`ran ${command}\n`) });
  /** Returns the result of a command that an earlier connection started. */
  resumed: (id: string) => Promise<ExecuteResult> = () =>
    Promise.reject(new GuestRefusal('not_found', 'no such execution'));
  attachError: Error | undefined;
  readonly attaches: string[] = [];
  readonly identities: GuestIdentity[] = [];
  readonly forgotten: string[] = [];
  readonly expiries: number[] = [];
  /** How many clocks were set. */
  clocksSet = 0;
  /** Runs before a clock is set; a test makes it reject or hang. */
  beforeClockSet: () => Promise<void> = async () => {};
  /** The files of every machine. */
  readonly files = new StubFiles();
  /** The live commands of every machine. */
  readonly live = new StubLive();
  /** The terminals of every machine. */
  readonly terminals = new StubTerminals();
  readonly #disconnects: (() => void)[] = [];

  async attach(machine: { readonly id: string }, _deadlineMs?: number, identity?: GuestIdentity): Promise<GuestAgent> {
    this.attaches.push(machine.id);
    if (this.attachError !== undefined) throw this.attachError;
    if (identity) this.identities.push(identity);
    return this.#connect();
  }

  #connect(): GuestAgent {
    const { promise: closed, resolve: close } = Promise.withResolvers<void>();
    this.#disconnects.push(close);
    const unused = () => Promise.reject(new Error('not stubbed'));
    const lost = closed.then((): never => {
      throw new GuestUnreachable('the connection was lost');
    });
    lost.catch(() => {});
    return {
      closed,
      close,
      setExpiry: async (expiresAtMs) => void this.expiries.push(expiresAtMs),
      setIdentity: async (identity) => void this.identities.push(identity),
      execute: (request) => Promise.race([this.command(request), lost]),
      forgetExecution: async (id) => void this.forgotten.push(id),
      hello: unused,
      setClock: async () => {
        await this.beforeClockSet();
        this.clocksSet += 1;
      },
      stats: async () => ({
        cpu: { count: 2, userUs: 2_000_000, systemUs: 1_000_000 },
        memory: { totalBytes: 1_000, availableBytes: 600 },
        disk: { totalBytes: 2_000, freeBytes: 1_500 },
        network: { rxBytes: 10, txBytes: 20 },
        processes: 3,
        uptimeMs: 5_000,
      }),
      openTunnel: unused,
      resumeExecution: (id) => Promise.race([this.resumed(id), lost]),
      startLive: (request) => this.live.start(request, closed),
      continueLive: async (id, afterBytes) => this.live.get(id).read(afterBytes, closed),
      awaitLiveEnd: async (id) => Promise.race([this.live.get(id).result(), lost]),
      writeStdin: async (id, bytes, close) => {
        const command = this.live.get(id);
        command.refuseIfAsked();
        await command.onStdin(Buffer.from(bytes), close);
        command.stdin.push(Buffer.from(bytes).toString());
      },
      startTerminal: async (id, size) => this.terminals.start(id, size, closed),
      viewTerminal: async (id, afterBytes) => this.terminals.get(id).view(afterBytes, closed),
      listTerminals: async () => this.terminals.running(),
      endTerminal: async (id) => this.terminals.get(id).exit(129),
      signalExecution: async (id, signal) => {
        const command = this.live.get(id);
        command.refuseIfAsked();
        command.signals.push(signal);
        command.onSignal(signal);
      },
      readFile: (path, maxBytes) => Promise.race([this.files.readFile(path, maxBytes), lost]),
      writeFile: (path, content, maxBytes) => Promise.race([this.files.writeFile(path, content, maxBytes), lost]),
      listFiles: (path, maxEntries) => Promise.race([this.files.listFiles(path, maxEntries), lost]),
      deleteFile: (path, recursive) => Promise.race([this.files.deleteFile(path, recursive), lost]),
    };
  }

  /** Closes every connection. */
  disconnect(): void {
    for (const close of this.#disconnects.splice(0)) close();
  }
}
