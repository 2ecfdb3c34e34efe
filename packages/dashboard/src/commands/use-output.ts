import type { Execution } from '@mayfly/contract';
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { readEvents } from '../api/event-stream.ts';
import { useIsVisible } from '../parts/use-is-visible.ts';
import { OutputBuffer } from './output-buffer.ts';
import { executionPath } from './queries.ts';

/** The output of one execution as it grows. What reads it is told at most once per frame, however fast the output is. */
export class LiveOutput {
  readonly buffer = new OutputBuffer();
  lastEventId: string | undefined;
  #version = 0;
  #isScheduled = false;
  readonly #listeners = new Set<() => void>();

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  version = (): number => this.#version;

  changed(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    requestAnimationFrame(() => {
      this.#isScheduled = false;
      this.#version += 1;
      for (const listener of this.#listeners) listener();
    });
  }
}

/** Renders again when the output has grown. */
export function useVersion(output: LiveOutput): number {
  return useSyncExternalStore(output.subscribe, output.version);
}

export interface Following {
  readonly output: LiveOutput;
  readonly state: 'connecting' | 'live' | 'lost' | 'ended';
  /** The result, once the command has ended. */
  readonly ended: Execution | undefined;
  readonly error: unknown;
}

/** Follows the output of an execution from its beginning while the page is visible. Works for one that has ended, too. */
export function useOutput(id: string, onEnd: (execution: Execution) => void): Following {
  const isVisible = useIsVisible();
  const output = useMemo(() => new LiveOutput(), []);
  const [state, setState] = useState<Following['state']>('connecting');
  const [ended, setEnded] = useState<Execution>();
  const [error, setError] = useState<unknown>();
  const isOver = ended !== undefined;
  useEffect(() => {
    if (!isVisible || isOver) return;
    const reading = new AbortController();
    readEvents(`${executionPath(id)}/stream`, {
      signal: reading.signal,
      ...(output.lastEventId !== undefined && { lastEventId: output.lastEventId }),
      onOpen: () => {
        setState('live');
        setError(undefined);
      },
      onLost: () => setState('lost'),
      onEvent: ({ type, data, id: eventId }) => {
        output.lastEventId = eventId;
        const { buffer } = output;
        if (type === 'start') buffer.clear();
        else if (type === 'stdout' || type === 'stderr') buffer.append(type, readText(data as OutputData));
        else if (type === 'gap') buffer.appendGap((data as { readonly bytes: number }).bytes);
        output.changed();
        if (type !== 'exit') return undefined;
        setEnded(data as Execution);
        setState('ended');
        onEnd(data as Execution);
        return 'done';
      },
    }).catch((reason: unknown) => {
      if (!reading.signal.aborted) setError(reason);
    });
    return () => reading.abort();
  }, [id, isVisible, isOver, output, onEnd]);
  return { output, state, ended, error };
}

interface OutputData {
  readonly data: string;
  readonly encoding?: 'base64';
}

/** Bytes that are not UTF-8 come in base64; they are replaced as everywhere. */
function readText({ data, encoding }: OutputData): string {
  if (encoding !== 'base64') return data;
  return new TextDecoder().decode(Uint8Array.from(atob(data), (character) => character.charCodeAt(0)));
}
