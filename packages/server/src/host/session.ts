import { once } from 'node:events';
import type { Socket } from 'node:net';
import PQueue from 'p-queue';
import type { z } from 'zod';
import { oneLine } from '../core/errors/api-error.ts';
import type { Log } from '../core/ports/runtime.ts';
import { DeadlineExceeded, withDeadline } from '../core/scheduling/deadline.ts';
import { MalformedMessage, parseMessage, sendMessage } from '../machines/protocol/message-stream.ts';
import { type HostCall, type HostMessage, hostCall, type results } from '../machines/protocol/messages.ts';
import type { HostLimits } from './host-limits.ts';
import { CallFailed, type MachineTable } from './machine-table.ts';

type Result = z.infer<(typeof results)[keyof typeof results]>;

export interface SessionOptions {
  readonly socket: Socket;
  readonly machines: MachineTable;
  readonly limits: HostLimits;
  readonly log: Log;
}

/** Serves the calls of one connection. Its launches are cancelled when the connection ends; its machines stay. */
export class Session {
  readonly #options: SessionOptions;
  readonly #calls: PQueue;
  readonly #launches = new Map<number, AbortController>();
  #lastId = 0;

  constructor(options: SessionOptions) {
    const { socket, limits } = options;
    this.#options = options;
    this.#calls = new PQueue({
      concurrency: limits.callsInFlight,
      interval: 1_000,
      intervalCap: limits.callsPerSecond,
    });
    socket.setTimeout(limits.stallMs, () => this.close());
    socket.once('close', () => {
      this.#calls.clear();
      for (const launch of this.#launches.values()) launch.abort();
    });
  }

  /** Serves calls until the connection ends. Throws MalformedMessage at the first line that is not a call. */
  async serve(lines: AsyncIterable<string>): Promise<void> {
    for await (const line of lines) {
      // Lines may be left of a chunk that arrived before the connection ended.
      if (this.#options.socket.destroyed) return;
      const call = parseMessage(line, hostCall);
      if (call.id <= this.#lastId) throw new MalformedMessage('the id of the call was used before');
      this.#lastId = call.id;
      void this.#calls.add(() => this.#answer(call)).catch(() => {});
      await this.#readyForNext();
    }
  }

  /** Sends a message, or disconnects a service that leaves too much unread. */
  send(message: HostMessage): void {
    const { socket, limits } = this.#options;
    sendMessage(socket, message);
    if (socket.writableLength > limits.unreadBytes) this.close();
  }

  /** Sends a message that may be left out because the next one replaces it. */
  sendIfRead(message: HostMessage): void {
    if (!this.#options.socket.writableNeedDrain) this.send(message);
  }

  close(): void {
    this.#options.socket.destroy();
  }

  /** Resolves when nothing that this connection asked for is being worked on. */
  idle(): Promise<void> {
    return this.#calls.onPendingZero();
  }

  /** Waits until a call could start at once and the service has read its answers. */
  async #readyForNext(): Promise<void> {
    const { socket } = this.#options;
    await this.#calls.onSizeLessThan(1);
    if (!socket.writableNeedDrain) return;
    const ended = new AbortController();
    const end = (): void => ended.abort();
    socket.once('close', end);
    await once(socket, 'drain', { signal: ended.signal }).catch(() => {});
    socket.off('close', end);
  }

  async #answer(call: HostCall): Promise<void> {
    try {
      this.send({ id: call.id, ok: await this.#run(call) });
    } catch (error) {
      const { code, message } = failureOf(error);
      if (code === 'failed' || code === 'too_late') {
        const machine = 'machine' in call ? { machine_id: call.machine } : {};
        this.#options.log.error({ call: call.call, ...machine, err: error }, 'host_call_failed');
      }
      this.send({ id: call.id, error: { code, message } });
    }
  }

  async #run(call: HostCall): Promise<Result> {
    const { machines, limits } = this.#options;
    switch (call.call) {
      case 'adopt':
        return machines.page(call.after);
      case 'launch':
        await this.#launch(call);
        return {};
      case 'cancel':
        this.#launches.get(call.launch)?.abort();
        return {};
      case 'usage': {
        const used = await withDeadline('the usage', limits.callMs, machines.get(call.machine).usage());
        return { memory_bytes: used.memoryBytes, disk_bytes: used.diskBytes };
      }
      case 'set_egress':
        await withDeadline('the new policy', limits.callMs, machines.get(call.machine).setEgress(call.egress));
        return {};
      case 'destroy':
        await withDeadline('the destruction', limits.callMs, machines.destroy(call.machine));
        return {};
      case 'pause':
      case 'resume':
        await withDeadline(`the ${call.call}`, limits.callMs, machines.get(call.machine)[call.call]());
        return {};
    }
  }

  async #launch({ id, machine, size, egress }: Extract<HostCall, { call: 'launch' }>): Promise<void> {
    const { machines, limits } = this.#options;
    const abort = new AbortController();
    this.#launches.set(id, abort);
    try {
      const launched = machines.launch({ id: machine, size, egress, signal: abort.signal });
      await withDeadline('the launch', limits.launchMs, launched);
    } finally {
      // After the deadline, the machine is destroyed as soon as it is ready.
      abort.abort();
      this.#launches.delete(id);
    }
  }
}

function failureOf(error: unknown): Pick<CallFailed, 'code' | 'message'> {
  if (error instanceof CallFailed) return error;
  return { code: error instanceof DeadlineExceeded ? 'too_late' : 'failed', message: oneLine(error) };
}
