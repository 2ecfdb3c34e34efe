import { fromApi } from '../api/casing.ts';
import type { Stats } from '../api/resources.ts';
import { ConnectionError, SandboxEndedError } from '../errors.ts';
import { path, type RequestOptions } from '../http/connection.ts';
import { openStream, Reconnecting } from '../http/event-stream.ts';
import type { SandboxCaller } from './sandbox-caller.ts';

export interface WatchStatsOptions {
  /** The time between measurements, from 1 to 60. 2 unless given. */
  readonly intervalSeconds?: number | undefined;
  /** Ends the watching with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Yields a measurement per interval until the sandbox ends. A stream that is cut is reopened. */
export async function* watchStats(
  caller: SandboxCaller,
  { intervalSeconds, signal }: WatchStatsOptions,
): AsyncGenerator<Stats, void> {
  const query = { interval_seconds: intervalSeconds };
  const call = { method: 'GET', path: path`/sandboxes/${caller.id}/stats/stream`, query, repeatable: true } as const;
  const open = (options: RequestOptions) => openStream(caller.connection, { ...call, ...options });
  const reconnecting = new Reconnecting(caller.connection, { signal, open, lost });
  let stream = await caller.explained(open({ signal }));
  for (;;) {
    let hasAdvanced = false;
    try {
      for await (const { event, data } of stream.events) {
        if (event === 'end') return;
        hasAdvanced = true;
        if (event === 'stats') yield fromApi(JSON.parse(data)) as Stats;
      }
      throw new ConnectionError('The stream ended before the sandbox.', { mayHaveHappened: true });
    } catch (error) {
      const reopening = reconnecting.reopen(stream, error, hasAdvanced);
      const reopened = await caller.explained(reopening).catch((thrown: unknown) => {
        // It ended while the connection was lost.
        if (thrown instanceof SandboxEndedError) return undefined;
        throw thrown;
      });
      if (reopened === undefined) return;
      stream = reopened;
    }
  }
}

function lost(cause: unknown): ConnectionError {
  const said = cause instanceof Error ? cause.message : String(cause);
  return new ConnectionError(`The connection to the measurements was lost. ${said}`, { cause, mayHaveHappened: true });
}
