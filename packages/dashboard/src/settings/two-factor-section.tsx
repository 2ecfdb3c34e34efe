import type { Session } from '@mayfly/contract/dashboard';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { ShieldCheck } from 'lucide-react';
import { type FormEvent, lazy, Suspense, useState } from 'react';
import { sessionQuery } from '../api/queries.ts';
import { request } from '../api/request.ts';
import { announce } from '../parts/announcements.tsx';
import { Button } from '../parts/button.tsx';
import { Dialog, DialogActions } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { ErrorNotice } from '../parts/notice.tsx';
import { Section } from './section.tsx';

const TwoFactorSetupDialog = lazy(() =>
  import('./two-factor-setup.tsx').then((part) => ({ default: part.TwoFactorSetupDialog })),
);

/** Whether signing in needs a code too. */
export function TwoFactorSection({ session }: { readonly session: Session }) {
  const [open, setOpen] = useState<'set-up' | 'disable'>();
  const close = () => setOpen(undefined);
  return (
    <Section
      title="Two-factor authentication"
      description="Besides the password, signing in asks for a code of an app on your phone."
    >
      {session.two_factor ? (
        <div className="flex flex-wrap items-center justify-between gap-3">
          <p className="flex items-center gap-2.5">
            <ShieldCheck size={20} aria-hidden className="text-green" />
            Enabled
          </p>
          <Button look="danger" onClick={() => setOpen('disable')}>
            Disable
          </Button>
        </div>
      ) : (
        <Button onClick={() => setOpen('set-up')}>Set it up</Button>
      )}
      {open === 'set-up' && (
        <Suspense fallback={null}>
          <TwoFactorSetupDialog onClose={close} />
        </Suspense>
      )}
      {open === 'disable' && <DisableDialog onClose={close} />}
    </Section>
  );
}

function DisableDialog({ onClose }: { readonly onClose: () => void }) {
  const queryClient = useQueryClient();
  const [code, setCode] = useState('');
  const disable = useMutation({
    mutationFn: () => request('/two-factor', { method: 'DELETE', body: { code } }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey });
      announce('Two-factor authentication is disabled.');
      onClose();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (code !== '' && !disable.isPending) disable.mutate();
  };
  return (
    <Dialog title="Disable two-factor authentication?" onClose={onClose}>
      <form onSubmit={submit} className="space-y-4">
        <p className="text-soft">The password alone will be enough to sign in. The recovery codes stop working.</p>
        <Field
          label="Code"
          name="code"
          autoComplete="one-time-code"
          required
          maxLength={64}
          value={code}
          onChange={(event) => setCode(event.target.value)}
          className="font-mono tracking-widest"
          hint="From your authenticator app, or one of your recovery codes."
        />
        {disable.isError && <ErrorNotice error={disable.error} />}
        <DialogActions>
          <Button onClick={onClose}>Keep it</Button>
          <Button type="submit" look="danger" disabled={code === ''} isPending={disable.isPending}>
            Disable
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
