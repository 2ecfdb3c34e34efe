import { once } from 'node:events';
import { chmod, chown, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import PQueue from 'p-queue';
import type { MachineDriver } from '../core/ports/machine-driver.ts';
import type { Log } from '../core/ports/runtime.ts';
import { BackgroundTasks } from '../core/scheduling/background-tasks.ts';
import { withDeadline } from '../core/scheduling/deadline.ts';
import { pacedLog } from '../core/scheduling/paced-log.ts';
import { repeat } from '../core/scheduling/repeat.ts';
import { MalformedMessage, parseMessage, readLines, sendMessage } from '../machines/protocol/message-stream.ts';
import {
  type HostGreeting,
  maxCallBytes,
  memoryPeriodMs,
  ownHello,
  protocolVersion,
  serviceHello,
} from '../machines/protocol/messages.ts';
import { defaultHostLimits, type HostLimits } from './host-limits.ts';
import { MachineTable } from './machine-table.ts';
import { type CallTurns, createCallTurns, Session } from './session.ts';

/** Only root and the service's group may connect. */
const socketMode = 0o660;

/** How long a stop waits for the calls and cleanups in progress. */
const drainMs = 10_000;

/** How many lines of one event a service can make this process write in a second. */
const linesPerSecond = 10;
export const violationLinesPerSecond = 1;

export interface DriverServerOptions {
  readonly driver: MachineDriver;
  /** An absolute path. Whatever has this name is removed first. */
  readonly socketPath: string;
  /** The group that may connect; nobody but root when absent. */
  readonly serviceGid?: number;
  readonly log: Log;
  /** What the file system that the machines write to has left. */
  readonly diskFreeBytes: () => Promise<number>;
  readonly limits?: Partial<HostLimits>;
}

/**
 * Lets a service in another process use a machine driver over a unix socket. A new connection replaces the one before, because the service has
 * restarted. Machines stay when a connection ends. Disposing stops serving and keeps machines and driver.
 */
export class DriverServer implements AsyncDisposable {
  readonly #driver: MachineDriver;
  readonly #log: Log;
  readonly #violationLog: Log;
  readonly #limits: HostLimits;
  readonly #machines: MachineTable;
  readonly #server: Server;
  readonly #handshakes: PQueue;
  readonly #turns: CallTurns;
  readonly #sockets = new Set<Socket>();
  readonly #connections = new BackgroundTasks();
  readonly #repeated: AsyncDisposable[] = [];
  #session: Session | undefined;

  private constructor({ driver, log, diskFreeBytes, limits }: DriverServerOptions) {
    this.#driver = driver;
    this.#log = pacedLog(log, linesPerSecond);
    this.#violationLog = pacedLog(log, violationLinesPerSecond);
    this.#limits = { ...defaultHostLimits, ...limits };
    const { maxMachines, diskReserveBytes, callMs, connections, handshakesPerSecond } = this.#limits;
    this.#machines = new MachineTable({
      driver,
      log: this.#log,
      maxMachines,
      diskReserveBytes,
      diskFreeBytes,
      cleanupMs: callMs,
      onExited: (machine, exit) => this.#session?.sendExited(machine, exit),
    });
    this.#handshakes = new PQueue({ interval: 1_000, intervalCap: handshakesPerSecond });
    this.#turns = createCallTurns(this.#limits);
    this.#server = createServer((socket) => void this.#connections.track(this.#accept(socket)));
    this.#server.maxConnections = connections;
  }

  /** Adopts the machines that an earlier process left, then listens. */
  static async listen(options: DriverServerOptions): Promise<DriverServer> {
    const { socketPath, serviceGid = 0, log } = options;
    const server = new DriverServer(options);
    const adopted = await server.#machines.adopt();
    await rm(socketPath, { force: true });
    server.#server.listen({ path: socketPath, backlog: 16 });
    await once(server.#server, 'listening');
    server.#server.on('error', (err) => server.#log.error({ err }, 'host_accept_failed'));
    // In this order: before, nobody but the owner can connect.
    await chown(socketPath, process.getuid?.() ?? 0, serviceGid);
    await chmod(socketPath, socketMode);
    server.#repeated.push(
      repeat('memory', memoryPeriodMs, async () => server.#session?.sendMemoryIfRead(), log),
      repeat('cleanup', server.#limits.cleanupPeriodMs, async () => server.#machines.cleanUp(), log),
    );
    log.info({ socket: socketPath, machines: adopted }, 'host_listening');
    return server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    for (const repeated of this.#repeated) await repeated[Symbol.asyncDispose]();
    const idle = this.#connections.idle().then(() => this.#machines.idle());
    await withDeadline('the calls and cleanups in progress', drainMs, idle).catch((err: unknown) =>
      this.#log.warn({ err }, 'host_calls_abandoned'),
    );
    this.#machines.detachAll();
  }

  /** Serves one connection to its end. Never rejects. */
  async #accept(socket: Socket): Promise<void> {
    socket.on('error', () => {});
    // Connections that were closed meanwhile wait too. Their number is limited here; the server limits the open ones.
    if (this.#handshakes.size >= this.#limits.connections) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    const timer = setTimeout(() => socket.destroy(), this.#limits.handshakeMs);
    try {
      await this.#handshakes.add(() => {});
      const lines = readLines(socket, maxCallBytes);
      const first = await lines.next();
      const isWelcome = first.done !== true && (await this.#greet(socket, first.value));
      clearTimeout(timer);
      if (isWelcome) await this.#serve(socket, lines);
    } catch (error) {
      if (error instanceof MalformedMessage)
        this.#violationLog.error({ reason: error.message }, 'host_protocol_violated');
    } finally {
      clearTimeout(timer);
      socket.destroy();
    }
  }

  /** Answers the first line. False if the service speaks another version. */
  async #greet(socket: Socket, line: string): Promise<boolean> {
    const { version } = parseMessage(line, serviceHello);
    const isSame = version === protocolVersion;
    const refused = `The service speaks version ${version} of the host protocol, this host process version ${protocolVersion}. Restart both from the same Mayfly.`;
    const greeting: HostGreeting = isSame
      ? { ...ownHello, driver: this.#driver.describe(), memory_left_bytes: this.#memoryLeft() }
      : { ...ownHello, refused };
    sendMessage(socket, greeting);
    if (isSame) return true;
    this.#log.warn({ service_version: version, host_version: protocolVersion }, 'service_version_refused');
    await new Promise<void>((resolve) => {
      socket.once('close', resolve).end(resolve);
    });
    return false;
  }

  async #serve(socket: Socket, lines: AsyncIterable<string>): Promise<void> {
    const session = new Session({
      socket,
      machines: this.#machines,
      turns: this.#turns,
      limits: this.#limits,
      log: this.#log,
      memoryLeft: () => this.#memoryLeft(),
    });
    this.#session?.close();
    this.#session = session;
    this.#log.info({}, 'service_connected');
    try {
      await session.serve(lines);
    } finally {
      session.close();
      if (this.#session === session) {
        this.#session = undefined;
        this.#log.info({}, 'service_disconnected');
      }
      await session.idle();
    }
  }

  /** JSON has no infinity. */
  #memoryLeft(): number | null {
    const leftBytes = this.#driver.memoryLeftBytes();
    return Number.isFinite(leftBytes) ? leftBytes : null;
  }
}
