import type { Session } from '@mayfly/contract/dashboard';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState, useSyncExternalStore } from 'react';
import { enterSession, sessionQuery } from '../api/queries.ts';
import { Mayfly } from '../layout/mayfly.tsx';
import { Logo } from '../parts/logo.tsx';
import { ThemeMenu } from '../theme/theme-menu.tsx';
import { LinkForm } from './link-form.tsx';
import { linkToken, onLinkToken } from './link-token.ts';
import { NewPasswordForm } from './new-password-form.tsx';
import { PasswordForm } from './password-form.tsx';
import { returnPath } from './return-path.ts';

/** Leads to a session: with a password, or with a link and then a new password. A person who has one already is sent on. */
export function SignInPage() {
  const hasLink = useSyncExternalStore(onLinkToken, linkToken) !== undefined;
  const { from } = useSearch({ from: '/sign-in' });
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const asked = useQuery({ ...sessionQuery, staleTime: 0 });
  const [entered, setEntered] = useState<Session>();
  const [isSkipped, setIsSkipped] = useState(false);

  // What was known before coming here may be of a session that has ended.
  const session = entered ?? (asked.isFetchedAfterMount && asked.isSuccess ? asked.data : undefined);
  const mustSetPassword = session !== undefined && mayStillSetPassword(session) && !isSkipped;
  const isDone = session !== undefined && !hasLink && !mustSetPassword;
  useEffect(() => {
    if (isDone) void navigate({ href: returnPath(from), replace: true });
  }, [isDone, from, navigate]);

  const enter = (next: Session) => {
    enterSession(queryClient, next);
    setEntered(next);
  };

  if (hasLink) {
    return (
      <Frame title="Welcome to Mayfly">
        <LinkForm onSignedIn={enter} />
      </Frame>
    );
  }
  if (session && mustSetPassword) {
    return (
      <Frame title="Choose a password">
        <NewPasswordForm email={session.account.email} onSaved={enter} onSkip={() => setIsSkipped(true)} />
      </Frame>
    );
  }
  // Without an answer yet the form would flash by.
  if (!asked.isFetchedAfterMount || isDone) return null;
  return (
    <Frame title="Sign in">
      <PasswordForm onSignedIn={enter} />
    </Frame>
  );
}

/** A link allows it for a few minutes. A person who has a password is not asked. */
function mayStillSetPassword({ may_set_password, has_password }: Session): boolean {
  return may_set_password && !has_password;
}

function Frame({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <div className="grid min-h-dvh md:grid-cols-[minmax(0,5fr)_minmax(0,6fr)]">
      <title>{`${title} · Mayfly`}</title>
      <aside className="relative hidden overflow-hidden border-line border-r bg-panel md:block">
        <Mayfly className="absolute inset-x-[7%] top-[9%] max-h-[66%] w-[86%] text-accent opacity-70" />
        <div className="absolute inset-x-0 bottom-0 p-10 lg:p-14">
          <p className="max-w-md text-[1.7rem] leading-snug font-bold tracking-[-0.02em] text-balance">
            A virtual machine for every call.
          </p>
          <p className="mt-2 text-base text-balance text-soft">
            Ready in about a second, yours alone, gone when it is done.
          </p>
        </div>
      </aside>
      <main id="main" className="relative grid place-items-center px-5 py-16">
        <div className="absolute top-3 right-4">
          <ThemeMenu />
        </div>
        <div className="w-full max-w-90 animate-appear">
          <div className="mb-7 flex items-center gap-2.5">
            <span className="text-accent">
              <Logo size={30} />
            </span>
            <strong className="text-lg font-bold">Mayfly</strong>
          </div>
          <h1 className="mb-5 text-2xl font-bold tracking-[-0.02em]">{title}</h1>
          {children}
        </div>
      </main>
    </div>
  );
}
