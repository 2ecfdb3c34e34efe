import type { Session } from '@mayfly/contract/dashboard';
import { useMutation } from '@tanstack/react-query';
import { request } from '../api/request.ts';
import { Button } from '../parts/button.tsx';
import { ErrorNotice } from '../parts/notice.tsx';
import { forgetLinkToken, linkToken } from './link-token.ts';

interface LinkFormProps {
  readonly onSignedIn: (session: Session) => void;
}

/** Uses a sign-in link when it is asked to, not before: programs that look at links would use it up. */
export function LinkForm({ onSignedIn }: LinkFormProps) {
  const signIn = useMutation({
    mutationFn: () => request<Session>('/session/link', { method: 'POST', body: { token: linkToken() } }),
    onSuccess: (session) => {
      onSignedIn(session);
      forgetLinkToken();
    },
  });
  return (
    <div className="space-y-4">
      <p className="text-soft">You have opened a sign-in link. It works once.</p>
      {signIn.isError && <ErrorNotice error={signIn.error} />}
      <Button
        look="primary"
        autoFocus
        className="!mt-6 h-10 w-full"
        isPending={signIn.isPending}
        onClick={() => signIn.mutate()}
      >
        Sign in with the link
      </Button>
      <Button look="quiet" className="w-full" onClick={forgetLinkToken}>
        Use a password instead
      </Button>
    </div>
  );
}
