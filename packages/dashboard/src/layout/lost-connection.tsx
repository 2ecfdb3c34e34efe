import { useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { CloudOff } from 'lucide-react';
import { useEffect, useState } from 'react';
import { retryDelayMs, useIsConnectionLost } from '../api/connection.ts';
import { request } from '../api/request.ts';
import { Button } from '../parts/button.tsx';

const attemptTimeoutMs = 10_000;

/** Says that the service cannot be reached, tries again ever more rarely, and loads everything again once it answers. */
export function LostConnection() {
  return useIsConnectionLost() ? <Retrying /> : null;
}

function Retrying() {
  const queryClient = useQueryClient();
  const router = useRouter();
  const [failures, setFailures] = useState(0);
  const [isTrying, setIsTrying] = useState(false);
  const [secondsLeft, setSecondsLeft] = useState(0);

  useEffect(() => {
    if (!isTrying) return;
    const attempt = async () => {
      // Any answer will do, also one that says that nobody is signed in.
      await request('/session', { timeoutMs: attemptTimeoutMs }).catch(() => undefined);
      setIsTrying(false);
      setFailures((count) => count + 1);
    };
    void attempt();
  }, [isTrying]);

  useEffect(() => {
    if (isTrying) return;
    const atMs = Date.now() + retryDelayMs(failures);
    const tick = () => {
      const left = Math.ceil((atMs - Date.now()) / 1000);
      setSecondsLeft(Math.max(0, left));
      if (left <= 0) setIsTrying(true);
    };
    tick();
    const timer = setInterval(tick, 500);
    return () => clearInterval(timer);
  }, [isTrying, failures]);

  // It is removed when the service answers again.
  useEffect(
    () => () => {
      void queryClient.invalidateQueries();
      if (router.state.matches.some(({ status }) => status === 'error')) void router.invalidate();
    },
    [queryClient, router],
  );

  return (
    <div
      role="alert"
      className="fixed inset-x-3 bottom-3 z-30 mx-auto flex max-w-fit animate-rise items-center gap-3.5 rounded-xl bg-ink py-2.5 pr-2.5 pl-4 text-sm text-page shadow-float md:bottom-5"
    >
      <CloudOff size={17} aria-hidden className="shrink-0" />
      <span>
        <strong className="font-semibold">The service cannot be reached.</strong> What you see may be out of date.
      </span>
      <Button
        look="plain"
        className="h-8 border-transparent px-3"
        isPending={isTrying}
        onClick={() => setIsTrying(true)}
      >
        Try now
        <span aria-hidden className="text-soft tabular-nums">
          {secondsLeft > 0 && `· ${secondsLeft} s`}
        </span>
      </Button>
    </div>
  );
}
