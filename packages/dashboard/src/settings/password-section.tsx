import type { Session } from '@mayfly/contract/dashboard';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { RequestFailure } from '../api/failure.ts';
import { sessionQuery, sessionsQuery } from '../api/queries.ts';
import { request } from '../api/request.ts';
import { announce } from '../parts/announcements.tsx';
import { Button } from '../parts/button.tsx';
import { PasswordField } from '../parts/field.tsx';
import { ErrorNotice, Notice } from '../parts/notice.tsx';
import { passwordHint, passwordProblem } from '../sign-in/password-rules.ts';
import { Section } from './section.tsx';

/** Sets the password, or changes it with the current one. */
export function PasswordSection({ session }: { readonly session: Session }) {
  const { has_password: hasPassword, may_set_password: mayOmitCurrent } = session;
  const [isOpen, setIsOpen] = useState(false);
  const canChange = hasPassword || mayOmitCurrent;
  return (
    <Section
      title="Password"
      description={hasPassword ? 'Changing it ends all other sessions.' : 'You have none yet, only links.'}
    >
      {!canChange && <Notice>To set a password, ask the operator of this service for a new sign-in link.</Notice>}
      {canChange && !isOpen && (
        <Button onClick={() => setIsOpen(true)}>{hasPassword ? 'Change the password' : 'Set a password'}</Button>
      )}
      {canChange && isOpen && <PasswordForm session={session} onClose={() => setIsOpen(false)} />}
    </Section>
  );
}

function PasswordForm({ session, onClose }: { readonly session: Session; readonly onClose: () => void }) {
  const needsCurrent = session.has_password && !session.may_set_password;
  const queryClient = useQueryClient();
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const [wasSent, setWasSent] = useState(false);
  const save = useMutation({
    mutationFn: () =>
      request<Session>('/password', {
        method: 'PUT',
        body: { new_password: next, ...(needsCurrent && { current_password: current }) },
      }),
    onSuccess: async (changed) => {
      queryClient.setQueryData(sessionQuery.queryKey, changed);
      await queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey });
      announce('The password is saved.');
      onClose();
    },
  });
  const problem = passwordProblem(next, session.account.email);
  const isCurrentWrong = save.error instanceof RequestFailure && save.error.type === 'wrong_credentials';
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setWasSent(true);
    if (problem === undefined && !save.isPending) save.mutate();
  };
  return (
    <form onSubmit={submit} noValidate className="max-w-sm animate-appear space-y-4">
      <input readOnly name="username" autoComplete="username" value={session.account.email} className="hidden" />
      {needsCurrent && (
        <PasswordField
          label="Current password"
          name="current-password"
          autoComplete="current-password"
          autoFocus
          value={current}
          onChange={(event) => setCurrent(event.target.value)}
          error={isCurrentWrong ? 'This is not the current password.' : undefined}
        />
      )}
      <PasswordField
        label="New password"
        name="new-password"
        autoComplete="new-password"
        autoFocus={!needsCurrent}
        value={next}
        onChange={(event) => setNext(event.target.value)}
        hint={passwordHint}
        error={wasSent ? problem : undefined}
      />
      {save.isError && !isCurrentWrong && <ErrorNotice error={save.error} />}
      <div className="flex gap-2 pt-1">
        <Button type="submit" look="primary" isPending={save.isPending}>
          Save
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </form>
  );
}
