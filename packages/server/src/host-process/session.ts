import { once } from 'node:events';
import type { Socket } from 'node:net';
import PQueue from 'p-queue';
import type { z } from 'zod';
import { oneLine } from '../core/errors/api-error.ts';
import { HostFull, type MachineExit, SnapshotUnusable, type StoredSnapshot } from '../core/ports/machine-driver.ts';
import type { Log } from '../core/ports/runtime.ts';
import { BackgroundTasks } from '../core/scheduling/background-tasks.ts';
import { DeadlineExceeded, withDeadline } from '../core/scheduling/deadline.ts';
import { MalformedMessage, parseMessage, sendMessage } from '../machines/protocol/message-stream.ts';
import {
  type HostCall,
  type HostMessage,
  hostCall,
  type ListedSnapshot,
  type results,
  type SnapshotsPage,
  snapshotsPerPage,
} from '../machines/protocol/messages.ts';
import type { HostLimits } from './host-limits.ts';
import { CallFailed, type MachineTable } from './machine-table.ts';

type Result = z.infer<(typeof results)[keyof typeof results]>;

export interface SessionOptions {
  readonly socket: Socket;
  readonly machines: MachineTable;
  readonly turns: CallTurns;
  readonly limits: HostLimits;
  readonly log: Log;
  /** What all machines together may still take, in bytes, measured now; null without a limit. */
  readonly memoryLeft: () => number | null;
}

/** When calls may run. All connections share them, so that a service gains nothing by connecting again. */
export interface CallTurns {
  readonly calls: PQueue;
  /** Calls that change something run programs on the host, which all data folders share. */
  readonly changes: PQueue;
  /** Saves take minutes. They have places of their own, and a connection that ended does not cancel them. */
  readonly saves: PQueue;
}

export function createCallTurns(limits: HostLimits): CallTurns {
  const { callsInFlight, callsPerSecond, changesPerSecond, savesInFlight } = limits;
  return {
    calls: new PQueue({ concurrency: callsInFlight, interval: 1_000, intervalCap: callsPerSecond }),
    changes: new PQueue({ interval: 1_000, intervalCap: changesPerSecond }),
    saves: new PQueue({ concurrency: savesInFlight }),
  };
}

const changingCalls: readonly HostCall['call'][] = [
  'launch',
  'destroy',
  'pause',
  'resume',
  'set_egress',
  'save',
  'delete_snapshot',
];

/** Serves the calls of one connection. Its launches are cancelled when the connection ends; its machines stay. */
export class Session {
  readonly #options: SessionOptions;
  readonly #running = new BackgroundTasks();
  readonly #launches = new Map<number, AbortController>();
  #lastId = 0;

  constructor(options: SessionOptions) {
    const { socket, limits } = options;
    this.#options = options;
    socket.setTimeout(limits.stallMs, () => this.close());
    socket.once('close', () => {
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
      void this.#running.track(this.#takeTurn(call));
      await this.#readyForNext();
    }
  }

  /** Sends a message, or disconnects a service that leaves too much unread. */
  send(message: HostMessage): void {
    const { socket, limits } = this.#options;
    sendMessage(socket, message);
    if (socket.writableLength > limits.unreadBytes) this.close();
  }

  /** Sends what machines may still take, unless the service has to read other messages first: the next one replaces it. */
  sendMemoryIfRead(): void {
    if (!this.#options.socket.writableNeedDrain) this.#sendMemory();
  }

  /** Reports the end of a machine, after what it gave back. */
  sendExited(machine: string, exit: MachineExit): void {
    this.#sendMemory();
    this.send({ event: 'exited', machine, exit });
  }

  #sendMemory(): void {
    this.send({ event: 'memory', left_bytes: this.#options.memoryLeft() });
  }

  close(): void {
    this.#options.socket.destroy();
  }

  /** Resolves when nothing that this connection asked for is being worked on. */
  idle(): Promise<void> {
    return this.#running.idle();
  }

  /** Answers a call when it is its turn. */
  async #takeTurn(call: HostCall): Promise<void> {
    const { turns, limits } = this.#options;
    if (call.call !== 'save') return await turns.calls.add(() => this.#answer(call));
    await turns.calls.add(() => {});
    if (turns.saves.size < limits.waitingSaves) return await turns.saves.add(() => this.#answer(call));
    const message = `${limits.waitingSaves} saves are waiting for their turn already. Try again later.`;
    this.send({ id: call.id, error: { code: 'failed', message } });
  }

  /** Waits until a call could start at once and the service has read its answers. */
  async #readyForNext(): Promise<void> {
    const { socket, turns } = this.#options;
    await turns.calls.onSizeLessThan(1);
    if (!socket.writableNeedDrain) return;
    const ended = new AbortController();
    const end = (): void => ended.abort();
    socket.once('close', end);
    await once(socket, 'drain', { signal: ended.signal }).catch(() => {});
    socket.off('close', end);
  }

  /** Runs a call and answers it. Never rejects. Does nothing if the connection ended before the call's turn. */
  async #answer(call: HostCall): Promise<void> {
    const { socket, turns } = this.#options;
    const isChange = changingCalls.includes(call.call);
    if (isChange) await turns.changes.add(() => {});
    if (socket.destroyed) return;
    // Before the answer, because the service decides by this value what to change next.
    const reply = (message: HostMessage): void => {
      if (isChange) this.#sendMemory();
      this.send(message);
    };
    try {
      reply({ id: call.id, ok: await this.#run(call) });
    } catch (error) {
      const { code, message } = failureOf(error);
      if (code === 'failed' || code === 'too_late') {
        const machine = 'machine' in call ? { machine_id: call.machine } : {};
        this.#options.log.error({ call: call.call, ...machine, err: error }, 'host_call_failed');
      }
      reply({ id: call.id, error: { code, message } });
    }
  }

  async #run(call: HostCall): Promise<Result> {
    const { machines, limits } = this.#options;
    switch (call.call) {
      case 'list':
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
      case 'save': {
        const saved = await withDeadline('the save', limits.saveMs, machines.save(call.machine, call.snapshot));
        return { paused_ms: saved.pausedMs, snapshot: listed(saved.snapshot) };
      }
      case 'snapshots':
        return snapshotsPage(await withDeadline('the list', limits.callMs, machines.snapshots()), call.after);
      case 'delete_snapshot':
        await withDeadline('the deletion', limits.callMs, machines.deleteSnapshot(call.snapshot));
        return {};
      case 'pause':
      case 'resume':
        await withDeadline(`the ${call.call}`, limits.callMs, machines.get(call.machine)[call.call]());
        return {};
    }
  }

  async #launch({ id, machine, size, egress, snapshot }: Extract<HostCall, { call: 'launch' }>): Promise<void> {
    const { machines, limits } = this.#options;
    const abort = new AbortController();
    this.#launches.set(id, abort);
    try {
      const launched = machines.launch({ id: machine, size, egress, snapshotId: snapshot, signal: abort.signal });
      await withDeadline('the launch', limits.launchMs, launched);
    } catch (error) {
      // After the deadline, the machine is destroyed as soon as it is ready.
      abort.abort();
      throw error;
    } finally {
      this.#launches.delete(id);
    }
  }
}

function failureOf(error: unknown): Pick<CallFailed, 'code' | 'message'> {
  if (error instanceof CallFailed) return error;
  if (error instanceof HostFull) return { code: 'disk_full', message: oneLine(error) };
  if (error instanceof SnapshotUnusable) return { code: 'unusable_snapshot', message: oneLine(error) };
  return { code: error instanceof DeadlineExceeded ? 'too_late' : 'failed', message: oneLine(error) };
}

function listed({ id, size, files }: StoredSnapshot): ListedSnapshot {
  return { snapshot: id, size, files: files.map((file) => ({ id: file.id, bytes: file.bytes })) };
}

/** The snapshots after the given id, up to a page. They are in the order of their ids. */
function snapshotsPage(stored: readonly StoredSnapshot[], after = ''): SnapshotsPage {
  const later = stored.filter(({ id }) => id > after);
  return { snapshots: later.slice(0, snapshotsPerPage).map(listed), more: later.length > snapshotsPerPage };
}
