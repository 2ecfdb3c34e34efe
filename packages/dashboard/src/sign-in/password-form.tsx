import { dashboardLimits, type Session } from '@mayfly/contract/dashboard';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { RequestFailure } from '../api/failure.ts';
import { request } from '../api/request.ts';
import { Button } from '../parts/button.tsx';
import { Field, PasswordField } from '../parts/field.tsx';
import { ErrorNotice } from '../parts/notice.tsx';

interface PasswordFormProps {
  readonly onSignedIn: (session: Session) => void;
}

/** E-mail address and password, and a code once the service asks for it. */
export function PasswordForm({ onSignedIn }: PasswordFormProps) {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [needsCode, setNeedsCode] = useState(false);
  const codeField = useRef<HTMLInputElement>(null);
  const passwordField = useRef<HTMLInputElement>(null);

  const signIn = useMutation({
    mutationFn: () =>
      request<Session>('/session', { method: 'POST', body: { email, password, ...(needsCode && { code }) } }),
    onSuccess: onSignedIn,
    onError: (error) => {
      if (!(error instanceof RequestFailure)) return;
      if (error.type === 'code_required') setNeedsCode(true);
      if (error.type === 'wrong_code') codeField.current?.select();
      if (error.type === 'wrong_credentials') {
        setNeedsCode(false);
        passwordField.current?.select();
      }
    },
  });
  useEffect(() => {
    if (needsCode) codeField.current?.focus();
  }, [needsCode]);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!signIn.isPending) signIn.mutate();
  };
  // That a code is needed is a step, not an error.
  const error = signIn.error instanceof RequestFailure && signIn.error.type === 'code_required' ? null : signIn.error;

  return (
    <form onSubmit={submit} className="space-y-4">
      <div className={needsCode ? 'hidden' : 'space-y-4'}>
        <Field
          label="E-mail address"
          type="email"
          name="email"
          autoComplete="username"
          required
          autoFocus
          maxLength={dashboardLimits.emailCharacters}
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
        <PasswordField
          ref={passwordField}
          label="Password"
          name="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
      </div>
      {needsCode && (
        <Field
          ref={codeField}
          label="Code"
          name="code"
          autoComplete="one-time-code"
          required
          spellCheck={false}
          autoCapitalize="none"
          maxLength={64}
          value={code}
          onChange={(event) => setCode(event.target.value)}
          className="font-mono tracking-widest"
          hint="From your authenticator app, or one of your recovery codes."
        />
      )}
      {error && <ErrorNotice error={error} />}
      <Button type="submit" look="primary" className="!mt-6 h-10 w-full" isPending={signIn.isPending}>
        Sign in
      </Button>
      {needsCode ? (
        <Button
          look="quiet"
          className="w-full"
          onClick={() => {
            setNeedsCode(false);
            setCode('');
            signIn.reset();
          }}
        >
          Use another account
        </Button>
      ) : (
        <p className="pt-2 text-[0.82rem] text-soft">
          No account yet, or no password? The operator of this service can send you a sign-in link.
        </p>
      )}
    </form>
  );
}
