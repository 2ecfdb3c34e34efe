import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { machineDeadlines } from '../../../core/ports/machine-deadlines.ts';
import { withDeadline } from '../../../core/scheduling/deadline.ts';
import { connectUnix } from '../../../system/unix-sockets.ts';
import { LineSplitter } from '../../protocol/line-splitter.ts';
import { type MachineProcess, readLogTail } from '../machine-process.ts';
import { maxLineBytes, parseQmpMessage, type QmpEvent, type QmpMessage } from './messages.ts';
import { readLines } from './paced-lines.ts';

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

const { answerMs, openMonitorMs } = machineDeadlines.launch;

/** How long the exit of QEMU may take to be noticed after its monitor was closed. */
const exitNoticeMs = 1_000;

/** A connection to one QEMU monitor. Commands fail instead of hanging when QEMU does not answer or exits. */
export class QmpClient {
  /** Resolves when the connection is closed; never rejects. */
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #pending = new Map<number, Pending>();
  readonly #events = new EventEmitter<{ event: [QmpEvent] }>();
  readonly #greeting = Promise.withResolvers<void>();
  #nextId = 1;
  #closedBy: Error | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#greeting.promise.catch(() => {});
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#fail(new Error('QEMU closed its monitor'));
        resolve();
      });
    });
    socket.on('error', () => {});
    readLines(socket, new LineSplitter(maxLineBytes), (line) => this.#handle(parseQmpMessage(line)));
  }

  /** Waits for the greeting and leaves negotiation mode. */
  async negotiate(): Promise<void> {
    await withDeadline("QEMU's greeting", answerMs, this.#greeting.promise);
    await this.execute('qmp_capabilities');
  }

  /** Sends one command and returns its result. */
  execute(command: string, args?: Record<string, unknown>): Promise<unknown> {
    if (this.#closedBy) return Promise.reject(this.#closedBy);
    const id = this.#nextId++;
    const answer = new Promise<unknown>((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
    });
    this.#socket.write(`${JSON.stringify({ execute: command, id, ...(args ? { arguments: args } : {}) })}\n`);
    return withDeadline(`QEMU's answer to "${command}"`, answerMs, answer).finally(() => this.#pending.delete(id));
  }

  /** Calls the listener for every event until the returned function is called. */
  onEvent(listener: (event: QmpEvent) => void): () => void {
    this.#events.on('event', listener);
    return () => this.#events.off('event', listener);
  }

  close(): void {
    this.#socket.destroy();
  }

  /** Closes the connection to a QEMU that has exited, once its last messages were read: at once, unless there are very many. */
  async finish(): Promise<void> {
    await Promise.race([this.closed, delay(exitNoticeMs, undefined, { ref: false })]);
    this.close();
    await this.closed;
  }

  #handle(message: QmpMessage): void {
    if (message.kind === 'greeting') this.#greeting.resolve();
    else if (message.kind === 'event') this.#events.emit('event', message.event);
    else if (message.kind === 'success') this.#pending.get(message.id)?.resolve(message.value);
    else if (message.kind === 'failure') this.#pending.get(message.id)?.reject(new Error(`QEMU: ${message.message}`));
  }

  #fail(error: Error): void {
    this.#closedBy ??= error;
    this.#greeting.reject(error);
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}

/** Connects to the monitor of a QEMU process that was just started. When QEMU exits instead, the error contains the end of its log. */
export async function connectMonitor(process: MachineProcess, socketPath: string, logPath: string): Promise<QmpClient> {
  const giveUp = new AbortController();
  const exited = process.ended.then(() => undefined);
  const connected = connectUnix(socketPath, giveUp.signal);
  let socket: Socket | undefined;
  try {
    socket = await withDeadline('opening the monitor of QEMU', openMonitorMs, Promise.race([connected, exited]));
  } finally {
    giveUp.abort();
    if (!socket) connected.then((late) => late.destroy()).catch(() => {});
  }
  const explainExit = async () =>
    new Error(`QEMU exited at once: ${(await readLogTail(logPath)) || 'its log is empty'}`);
  if (!socket) throw await explainExit();
  const qmp = new QmpClient(socket);
  try {
    await qmp.negotiate();
  } catch (error) {
    qmp.close();
    // The jail opens the socket before QEMU starts, so a connection does not mean that QEMU runs.
    const hasExited = Promise.race([exited.then(() => true), delay(exitNoticeMs, false)]);
    throw (await hasExited) ? await explainExit() : error;
  }
  return qmp;
}
