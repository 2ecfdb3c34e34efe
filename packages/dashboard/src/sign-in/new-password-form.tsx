import type { Session } from '@mayfly/contract/dashboard';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { request } from '../api/request.ts';
import { Button } from '../parts/button.tsx';
import { PasswordField } from '../parts/field.tsx';
import { ErrorNotice } from '../parts/notice.tsx';
import { passwordHint, passwordProblem } from './password-rules.ts';

interface NewPasswordFormProps {
  readonly email: string;
  readonly onSaved: (session: Session) => void;
  readonly onSkip: () => void;
}

/** The first password of an account, after a sign-in with a link. */
export function NewPasswordForm({ email, onSaved, onSkip }: NewPasswordFormProps) {
  const [password, setPassword] = useState('');
  const [wasSent, setWasSent] = useState(false);
  const save = useMutation({
    mutationFn: () => request<Session>('/password', { method: 'PUT', body: { new_password: password } }),
    onSuccess: onSaved,
  });
  const problem = passwordProblem(password, email);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setWasSent(true);
    if (problem === undefined && !save.isPending) save.mutate();
  };
  return (
    <form onSubmit={submit} noValidate className="space-y-4">
      <p className="text-soft">
        You are signed in as <strong className="font-medium wrap-anywhere text-ink">{email}</strong>. With a password
        you can come back without a link.
      </p>
      {/* Password managers save it under this name. */}
      <input readOnly name="username" autoComplete="username" value={email} className="hidden" />
      <PasswordField
        label="New password"
        name="new-password"
        autoComplete="new-password"
        autoFocus
        required
        value={password}
        onChange={(event) => setPassword(event.target.value)}
        hint={passwordHint}
        error={wasSent ? problem : undefined}
      />
      {save.isError && <ErrorNotice error={save.error} />}
      <Button type="submit" look="primary" className="!mt-6 h-10 w-full" isPending={save.isPending}>
        Save the password
      </Button>
      <Button look="quiet" className="w-full" onClick={onSkip}>
        Not now
      </Button>
    </form>
  );
}
