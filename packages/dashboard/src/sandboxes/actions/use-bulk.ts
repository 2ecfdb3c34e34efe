import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { isSignedOut } from '../../api/failure.ts';
import { failedIds, type Outcome, type Outcomes, progressOf, runEach } from './bulk.ts';
import { refreshSandboxes } from './refresh.ts';

/** Runs requests for several sandboxes, and again for those that failed. What was begun goes on when the dialog is closed; what waits does not begin. */
export function useBulk(work: (id: string) => Promise<unknown>) {
  const queryClient = useQueryClient();
  const [outcomes, setOutcomes] = useState<Outcomes>(new Map());
  const [isRunning, setIsRunning] = useState(false);
  const end = useRef<AbortController>(undefined);
  useEffect(() => () => end.current?.abort(), []);

  const run = async (ids: readonly string[]): Promise<Outcomes> => {
    const results = new Map<string, Outcome>(outcomes);
    const closed = new AbortController();
    end.current = closed;
    setIsRunning(true);
    const note = (id: string, outcome: Outcome) => {
      results.set(id, outcome);
      setOutcomes(new Map(results));
    };
    await runEach(ids, work, note, closed.signal);
    setIsRunning(false);
    // A session that has ended ends the page, too.
    const hasEnded = [...results.values()].some((outcome) => outcome.state === 'failed' && isSignedOut(outcome.error));
    if (hasEnded) await queryClient.invalidateQueries();
    else await refreshSandboxes(queryClient);
    return results;
  };
  return { outcomes, isRunning, progress: progressOf(outcomes), run, retry: () => run(failedIds(outcomes)) };
}
