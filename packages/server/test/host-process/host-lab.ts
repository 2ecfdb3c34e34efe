import { mkdtemp, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Log } from '../../src/core/ports/runtime.ts';
import { withDeadline } from '../../src/core/scheduling/deadline.ts';
import { DriverServer } from '../../src/host-process/driver-server.ts';
import type { HostLimits } from '../../src/host-process/host-limits.ts';
import { LineSplitter } from '../../src/machines/protocol/line-splitter.ts';
import { ownHello } from '../../src/machines/protocol/messages.ts';
import { hostSocketPath } from '../../src/machines/protocol/run-folder.ts';
import { RemoteDriver } from '../../src/machines/remote/remote-driver.ts';
import { connectOnce } from '../../src/system/unix-sockets.ts';
import { StubDriver } from '../core/stub-driver.ts';
import { RecordedLog } from '../recorded-log.ts';

/** No test waits longer for anything. */
const deadlineMs = 30_000;

/** A host process's server in this process, over a real socket in a folder of its own, with machines that have no process. */
export class HostLab implements AsyncDisposable {
  readonly driver = new StubDriver();
  readonly hostLog = new RecordedLog();
  readonly serviceLog = new RecordedLog();
  readonly runDir: string;
  /** What the file system of the machines has left. */
  diskFreeBytes = Number.POSITIVE_INFINITY;
  /** The group of the socket: not this process's group, if it may choose. */
  readonly serviceGid: number = process.getuid?.() === 0 ? 54_322 : (process.getgid?.() ?? 0);
  readonly #limits: Partial<HostLimits>;
  readonly #opened = new AsyncDisposableStack();
  #server: DriverServer | undefined;

  private constructor(runDir: string, limits: Partial<HostLimits>) {
    this.runDir = runDir;
    this.#limits = limits;
  }

  /** Starts a host process. */
  static async open(limits: Partial<HostLimits> = {}): Promise<HostLab> {
    const lab = new HostLab(await mkdtemp(join(tmpdir(), 'host-')), limits);
    await lab.startHost();
    return lab;
  }

  get socketPath(): string {
    return hostSocketPath(this.runDir);
  }

  /** Starts a host process, which adopts the machines that are alive. */
  async startHost(): Promise<void> {
    const { driver, socketPath, serviceGid, hostLog: log } = this;
    const diskFreeBytes = async () => this.diskFreeBytes;
    const limits = this.#limits;
    this.#server = await DriverServer.listen({ driver, socketPath, serviceGid, log, diskFreeBytes, limits });
  }

  async stopHost(): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
    this.#server = undefined;
  }

  /** Connects as the service does. */
  async connect(log: Log = this.serviceLog): Promise<RemoteDriver> {
    const retryPauses = { firstMs: 5, longestMs: 50 };
    return this.#opened.use(await RemoteDriver.open({ runDir: this.runDir, log, openMs: deadlineMs, retryPauses }));
  }

  /** Connects without the driver, to send arbitrary bytes. */
  async connectRaw(): Promise<RawService> {
    const raw = new RawService(await connectOnce(this.socketPath));
    this.#opened.defer(() => raw.close());
    return raw;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync();
    await this.stopHost();
    await rm(this.runDir, { recursive: true });
  }
}

type Message = Readonly<Record<string, unknown>>;

/** The service's end of a connection, byte by byte. */
export class RawService {
  readonly socket: Socket;
  /** Everything the host process sent, except for memory events. */
  readonly received: Message[] = [];
  readonly #deadlineMs: number;
  readonly #closed: Promise<void>;
  #waiting: (() => void)[] = [];

  constructor(socket: Socket, longestWaitMs = deadlineMs) {
    this.socket = socket;
    this.#deadlineMs = longestWaitMs;
    const lines = new LineSplitter(16 * 1024 * 1024);
    socket.on('error', () => {});
    this.#closed = new Promise((resolve) => {
      socket.once('close', () => {
        resolve();
        this.#wake();
      });
    });
    socket.on('data', (chunk: Buffer) => {
      for (const line of lines.push(chunk)) {
        const message = JSON.parse(line) as Message;
        if (message.event !== 'memory') this.received.push(message);
      }
      this.#wake();
    });
  }

  /** Sends bytes, or a message as one line. */
  send(message: string | Buffer | object): void {
    const isBytes = typeof message === 'string' || Buffer.isBuffer(message);
    if (this.socket.writable) this.socket.write(isBytes ? message : `${JSON.stringify(message)}\n`);
  }

  /** Introduces itself and waits for the greeting. */
  async greet(): Promise<Message> {
    this.send(ownHello);
    return await this.next(({ hello }) => hello !== undefined);
  }

  /** Sends a call and waits for its answer. */
  async call(call: {
    readonly id: number;
    readonly call: string;
    readonly [field: string]: unknown;
  }): Promise<Message> {
    this.send(call);
    return await this.next(({ id }) => id === call.id);
  }

  /** The first message that fits, received already or later. Throws when the host process closes the connection. */
  async next(fits: (message: Message) => boolean): Promise<Message> {
    const found = async (): Promise<Message> => {
      for (;;) {
        const message = this.received.find(fits);
        if (message) return message;
        if (this.socket.destroyed) throw new Error('the host process closed the connection');
        await new Promise<void>((resolve) => {
          this.#waiting.push(resolve);
        });
      }
    };
    return await withDeadline('the message of the host', this.#deadlineMs, found());
  }

  /** Resolves when the host process has closed the connection. */
  async closed(): Promise<void> {
    await withDeadline('the end of the connection', this.#deadlineMs, this.#closed);
  }

  close(): void {
    this.socket.destroy();
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
