import type { Stats } from '@mayfly/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { readEvents } from '../../api/event-stream.ts';
import { useIsVisible } from '../../parts/use-is-visible.ts';
import { sandboxPath, sandboxQuery } from '../queries.ts';
import { type Sample, sampleOf, withSample } from './samples.ts';

const everySeconds = 2;

/** What was measured of the sandbox that was looked at last, so that coming back from another tab shows more than the last moment. */
let kept: { readonly id: string; readonly samples: readonly Sample[] } = { id: '', samples: [] };

export interface LiveStats {
  readonly samples: readonly Sample[];
  readonly state: 'connecting' | 'live' | 'lost';
  readonly error: unknown;
}

/** What a running sandbox uses, measured every two seconds while the page is visible. */
export function useStats(id: string): LiveStats {
  const queryClient = useQueryClient();
  const isVisible = useIsVisible();
  const [samples, setSamples] = useState(kept.id === id ? kept.samples : []);
  const [state, setState] = useState<LiveStats['state']>('connecting');
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    if (!isVisible) return;
    const reading = new AbortController();
    readEvents(`${sandboxPath(id)}/stats/stream?interval_seconds=${everySeconds}`, {
      signal: reading.signal,
      onOpen: () => {
        setState('live');
        setError(undefined);
      },
      onLost: () => setState('lost'),
      onEvent: ({ type, data }) => {
        if (type === 'stats') {
          const before = kept.id === id ? kept.samples : [];
          kept = { id, samples: withSample(before, sampleOf(data as Stats)) };
          setSamples(kept.samples);
        }
        if (type !== 'end') return undefined;
        void queryClient.invalidateQueries(sandboxQuery(id));
        return 'done';
      },
    }).catch((reason: unknown) => {
      if (reading.signal.aborted) return;
      setError(reason);
      void queryClient.invalidateQueries(sandboxQuery(id));
    });
    return () => reading.abort();
  }, [id, isVisible, queryClient]);
  return { samples, state, error };
}
