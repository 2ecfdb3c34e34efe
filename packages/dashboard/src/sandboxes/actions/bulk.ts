/** What has become of one of several requests. */
export type Outcome =
  | { readonly state: 'waiting' | 'running' | 'succeeded' }
  | { readonly state: 'failed'; readonly error: unknown };

/** By the id of what each request is about. */
export type Outcomes = ReadonlyMap<string, Outcome>;

/** More of them at once would hold up everything else that the page asks for. */
export const requestsAtOnce = 4;

/**
 * Does `work` for every id, at most `atOnce` of them side by side, in the order of the ids. Reports each change, and never rejects. After the signal is
 * aborted nothing further is begun.
 */
export async function runEach(
  ids: readonly string[],
  work: (id: string) => Promise<unknown>,
  onChange: (id: string, outcome: Outcome) => void,
  signal?: AbortSignal,
  atOnce = requestsAtOnce,
): Promise<void> {
  const waiting = [...ids];
  const worker = async () => {
    for (let id = waiting.shift(); id !== undefined && !signal?.aborted; id = waiting.shift()) {
      onChange(id, { state: 'running' });
      try {
        await work(id);
        onChange(id, { state: 'succeeded' });
      } catch (error) {
        onChange(id, { state: 'failed', error });
      }
    }
  };
  for (const id of ids) onChange(id, { state: 'waiting' });
  await Promise.all(Array.from({ length: Math.min(atOnce, ids.length) }, worker));
}

/** How many requests are in which state. */
export interface Progress {
  readonly total: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly isOver: boolean;
}

export function progressOf(outcomes: Outcomes): Progress {
  const count = (state: Outcome['state']) => [...outcomes.values()].filter((outcome) => outcome.state === state).length;
  const [succeeded, failed] = [count('succeeded'), count('failed')];
  return { total: outcomes.size, succeeded, failed, isOver: outcomes.size > 0 && succeeded + failed === outcomes.size };
}

/** The ids whose request can be repeated. */
export function failedIds(outcomes: Outcomes): readonly string[] {
  return [...outcomes].filter(([, { state }]) => state === 'failed').map(([id]) => id);
}
