import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { LineSplitter } from './line-splitter.ts';
import { parseQmpMessage, type QmpEvent, type QmpMessage } from './message.ts';

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** How long QEMU may take to answer a command, in milliseconds. */
const answerDeadlineMs = 20_000;

/** A conversation with one QEMU monitor. Commands fail, never hang, when QEMU does not answer or goes away. */
export class QmpClient {
  readonly #socket: Socket;
  readonly #pending = new Map<number, Pending>();
  readonly #events = new EventEmitter<{ event: [QmpEvent] }>();
  readonly #greeted: Promise<void>;
  readonly closed: Promise<void>;
  #greet: () => void = () => {};
  #nextId = 1;
  #gone: Error | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#greeted = new Promise((resolve) => {
      this.#greet = resolve;
    });
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#fail(new Error('QEMU closed its monitor'));
        resolve();
      });
    });
    const lines = new LineSplitter();
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const line of lines.push(chunk)) this.#take(parseQmpMessage(line));
      } catch (error) {
        socket.destroy(error instanceof Error ? error : new Error(String(error)));
      }
    });
  }

  /** Waits for the greeting and leaves negotiation mode. */
  async negotiate(): Promise<void> {
    await this.#withDeadline('greeting', this.#greeted);
    await this.execute('qmp_capabilities');
  }

  /** Sends one command and answers with what it returned. */
  execute(command: string, args?: Record<string, unknown>): Promise<unknown> {
    if (this.#gone) return Promise.reject(this.#gone);
    const id = this.#nextId++;
    const answer = new Promise<unknown>((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
    });
    this.#socket.write(`${JSON.stringify({ execute: command, id, ...(args ? { arguments: args } : {}) })}\n`);
    return this.#withDeadline(command, answer).finally(() => this.#pending.delete(id));
  }

  /** Calls back for every event until the returned function is called. */
  onEvent(listener: (event: QmpEvent) => void): () => void {
    this.#events.on('event', listener);
    return () => this.#events.off('event', listener);
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(message: QmpMessage): void {
    if (message.kind === 'greeting') this.#greet();
    else if (message.kind === 'event') this.#events.emit('event', message.event);
    else if (message.kind === 'success') this.#pending.get(message.id)?.resolve(message.value);
    else if (message.kind === 'failure') this.#pending.get(message.id)?.reject(new Error(`QEMU: ${message.message}`));
  }

  #fail(error: Error): void {
    this.#gone ??= error;
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }

  async #withDeadline<T>(what: string, promise: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`QEMU did not answer "${what}" in time`)), answerDeadlineMs);
    });
    const gone = this.closed.then(() => {
      throw this.#gone ?? new Error('QEMU closed its monitor');
    });
    gone.catch(() => {});
    try {
      return await Promise.race([promise, late, gone]);
    } finally {
      clearTimeout(timer);
    }
  }
}
