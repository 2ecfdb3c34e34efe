import type { DeletedSessions, SessionSummary } from '@mayfly/contract/dashboard';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Laptop } from 'lucide-react';
import { sessionsQuery } from '../api/queries.ts';
import { request } from '../api/request.ts';
import { Ago } from '../parts/ago.tsx';
import { announce } from '../parts/announcements.tsx';
import { Button } from '../parts/button.tsx';
import { ErrorNotice } from '../parts/notice.tsx';
import { Section } from './section.tsx';
import { describeUserAgent } from './user-agent.ts';

/** Where the account is signed in, each with a way to end it. */
export function SessionsSection() {
  const sessions = useQuery(sessionsQuery);
  const queryClient = useQueryClient();
  const end = useMutation({
    mutationFn: (id: string | undefined) =>
      request<DeletedSessions>(id === undefined ? '/sessions' : `/sessions/${encodeURIComponent(id)}`, {
        method: 'DELETE',
      }),
    onSuccess: async ({ deleted }) => {
      await queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey });
      announce(deleted === 1 ? 'The session has ended.' : `${deleted} sessions have ended.`);
    },
  });
  const others = sessions.data?.data.filter(({ current }) => !current) ?? [];
  return (
    <Section title="Sessions" description="The browsers in which you are signed in. End those that you do not know.">
      {sessions.isError && !sessions.data && <ErrorNotice error={sessions.error} />}
      {end.isError && (
        <div className="mb-3">
          <ErrorNotice error={end.error} />
        </div>
      )}
      {sessions.data && (
        <ul className="divide-y divide-line rounded-lg border border-line">
          {sessions.data.data.map((session) => (
            <SessionItem
              key={session.id}
              session={session}
              isEnding={end.isPending && end.variables === session.id}
              onEnd={() => end.mutate(session.id)}
            />
          ))}
        </ul>
      )}
      {others.length > 1 && (
        <Button
          className="mt-3"
          isPending={end.isPending && end.variables === undefined}
          onClick={() => end.mutate(undefined)}
        >
          End all other sessions
        </Button>
      )}
    </Section>
  );
}

interface SessionItemProps {
  readonly session: SessionSummary;
  readonly isEnding: boolean;
  readonly onEnd: () => void;
}

function SessionItem({ session, isEnding, onEnd }: SessionItemProps) {
  const { current, last_used_at, source_address, user_agent } = session;
  const name = describeUserAgent(user_agent);
  return (
    <li className="flex items-center gap-3.5 px-4 py-3">
      <Laptop size={20} aria-hidden className="shrink-0 text-soft" />
      <div className="min-w-0 grow">
        <p className="flex flex-wrap items-center gap-x-2.5 font-medium" title={user_agent ?? undefined}>
          {name}
          {current && (
            <span className="rounded-full bg-green/11 px-2 py-px text-[0.75rem] text-green">this browser</span>
          )}
        </p>
        <p className="text-[0.82rem] wrap-anywhere text-soft">
          {source_address} ·{' '}
          {current ? (
            'in use now'
          ) : (
            <>
              last used <Ago at={last_used_at} />
            </>
          )}
        </p>
      </div>
      {!current && (
        <Button look="quiet" className="hover:!text-red" isPending={isEnding} onClick={onEnd}>
          End<span className="sr-only"> the session of {name}</span>
        </Button>
      )}
    </li>
  );
}
