import { setTimeout as wait } from 'node:timers/promises';
import type { HeldResult } from '../../budgets/held-result.ts';
import { ApiError, oneLine } from '../../errors/api-error.ts';
import type { MachineRegistry } from '../../machines/registry.ts';
import { GuestRefusal, GuestUnreachable, type LiveOutput } from '../../ports/guest-agent.ts';
import type { AccountRecord } from '../../ports/store/account-store.ts';
import type { ExecutionRecord, NewExecution } from '../../ports/store/execution-store.ts';
import { getExecution, getExecutionSummary, outputBytes, type ReadExecutionNeeds } from '../execution-records.ts';
import type { ExecutionsInFlight } from '../in-flight.ts';

/** What following an execution needs. */
export type FollowNeeds = ReadExecutionNeeds & {
  readonly machines: MachineRegistry;
  readonly executionsInFlight: ExecutionsInFlight;
};

/** What a reader of an execution gets. A position counts the bytes of both streams up to the end of the event. */
export type LiveEvent =
  | { readonly kind: 'start' }
  | { readonly kind: 'stdout' | 'stderr'; readonly bytes: Uint8Array; readonly position: number }
  | { readonly kind: 'gap'; readonly lostBytes: number; readonly position: number }
  | { readonly kind: 'exit'; readonly execution: ExecutionRecord };

export interface Following {
  readonly execution: Pick<NewExecution, 'id' | 'sandboxId' | 'isLive'>;
  /** The position after which to continue; undefined from the start. */
  readonly afterBytes?: number | undefined;
  /** Output that is already open, from the start. */
  readonly output?: LiveOutput | undefined;
  /** Where room for a large result is reserved. */
  readonly held: HeldResult;
  /** Ends the following, also while it waits. */
  readonly signal: AbortSignal;
}

/** The pause before the agent is asked again after its connection was lost. */
const reconnectPauseMs = 250;
/** How often the record is read while nothing in this process waits for the end of the command. */
const recordPauseMs = 1_000;
/** Stored output that is sent as one event. */
const pieceBytes = 32_768;

/** Everything that an execution prints, from a position to its end. Reconnects to the agent by itself. Throws when it cannot continue. */
export async function* followExecution(
  core: FollowNeeds,
  account: AccountRecord,
  following: Following,
): AsyncGenerator<LiveEvent, void> {
  const { execution, afterBytes, held, signal } = following;
  if (afterBytes === undefined) yield { kind: 'start' };
  let position = afterBytes ?? 0;
  for await (const event of execution.isLive ? liveEvents(core, following, position) : []) {
    yield event;
    position = event.position;
  }
  await untilEnded(core, account, execution.id, signal);
  const record = await getExecution(core, account, execution.id, held);
  yield* storedEvents(record, position);
  yield { kind: 'exit', execution: record };
}

type OutputEvent = Extract<LiveEvent, { position: number }>;

/** The output that the agent has, until the command ends or the machine does not have it any more. */
async function* liveEvents(
  core: FollowNeeds,
  { execution, output: opened, signal }: Following,
  from: number,
): AsyncGenerator<OutputEvent, void> {
  let position = from;
  for (let output = opened; ; output = undefined) {
    try {
      output ??= await openOutput(core, execution, position);
      if (output === undefined) return;
      using _abort = onAbort(signal, output);
      for await (const part of output) {
        if (part.kind === 'ended') return;
        position += part.kind === 'gap' ? part.lostBytes : part.bytes.length;
        yield { ...part, position };
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof GuestUnreachable)) throw error;
    }
    await wait(reconnectPauseMs, undefined, { signal });
  }
}

/**
 * Opens the output of an execution, so that a position that it does not have is refused before anything is sent. Undefined if it cannot be opened
 * now: following the execution tries again, or finds out that the machine does not have it.
 */
export async function openFollowing(
  core: FollowNeeds,
  execution: Following['execution'],
  afterBytes: number,
): Promise<LiveOutput | undefined> {
  if (!execution.isLive) return undefined;
  try {
    return await openOutput(core, execution, afterBytes);
  } catch (error) {
    if (error instanceof GuestUnreachable) return undefined;
    throw error;
  }
}

/** Undefined if the machine is gone, or does not have the output any more. */
async function openOutput(
  core: FollowNeeds,
  { id, sandboxId }: Following['execution'],
  position: number,
): Promise<LiveOutput | undefined> {
  const live = core.machines.find(sandboxId);
  if (live === undefined || live.isLost) return undefined;
  try {
    const agent = await live.agent();
    return await live.whileAlive(agent.continueLive(id, position));
  } catch (error) {
    if (!(error instanceof GuestRefusal)) throw error;
    if (error.code === 'not_found') return undefined;
    if (error.code === 'bad_request') throw new ApiError('invalid_request', invalidPosition(error));
    throw error;
  }
}

function invalidPosition(cause: GuestRefusal): string {
  return `Last-Event-ID must be the id of an event of this stream: ${oneLine(cause).replaceAll(';', ',')}`;
}

function onAbort(signal: AbortSignal, output: LiveOutput): Disposable {
  const close = () => output.close();
  if (signal.aborted) close();
  signal.addEventListener('abort', close, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', close) };
}

/** Waits until the record says how the command ended. */
async function untilEnded(core: FollowNeeds, account: AccountRecord, id: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    await orAbort(core.executionsInFlight.ended(id), signal);
    const { status } = await getExecutionSummary(core, account, id);
    if (status !== 'running') return;
    await wait(recordPauseMs, undefined, { signal });
  }
}

async function orAbort(work: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/**
 * What the record has after a position, and how much it does not have. The record of a live command does not say in which order its streams were
 * written, so it continues only a reader that has read nothing. Pure.
 */
export function* storedEvents(record: ExecutionRecord, from: number): Generator<OutputEvent, void> {
  const { stdout, stderr, isLive, writtenBytes } = record;
  let position = from;
  if (!isLive || from === 0) {
    const streams = [
      { kind: 'stdout', bytes: stdout, start: 0 },
      { kind: 'stderr', bytes: stderr, start: stdout.length },
    ] as const;
    for (const { kind, bytes, start } of streams) {
      for (let at = Math.max(from - start, 0); at < bytes.length; at += pieceBytes) {
        const piece = bytes.subarray(at, at + pieceBytes);
        position = start + at + piece.length;
        yield { kind, bytes: piece, position };
      }
    }
  }
  const lostBytes = (writtenBytes ?? outputBytes(record)) - position;
  if (lostBytes > 0) yield { kind: 'gap', lostBytes, position: position + lostBytes };
}
