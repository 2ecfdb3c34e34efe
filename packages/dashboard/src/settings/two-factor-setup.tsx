import type { EnabledTwoFactor, TwoFactorSetup } from '@mayfly/contract/dashboard';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { sessionQuery } from '../api/queries.ts';
import { request } from '../api/request.ts';
import { Button } from '../parts/button.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { Dialog, DialogActions } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { ErrorNotice, Notice } from '../parts/notice.tsx';
import { QrCode } from './qr-code.tsx';

/** From a QR code over a first code to the recovery codes. */
export function TwoFactorSetupDialog({ onClose }: { readonly onClose: () => void }) {
  const queryClient = useQueryClient();
  const [code, setCode] = useState('');
  // Asked for once: every answer has another secret.
  const setup = useQuery({
    queryKey: ['two-factor-setup'],
    queryFn: () => request<TwoFactorSetup>('/two-factor', { method: 'POST' }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const confirm = useMutation({
    mutationFn: () => request<EnabledTwoFactor>('/two-factor/confirm', { method: 'POST', body: { code } }),
    gcTime: 0,
  });
  const finish = () => {
    void queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey });
    onClose();
  };
  if (confirm.data) return <RecoveryCodes codes={confirm.data.recovery_codes} onClose={finish} />;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (code !== '' && !confirm.isPending) confirm.mutate();
  };
  return (
    <Dialog title="Set up two-factor authentication" onClose={onClose}>
      {setup.isError && (
        <ErrorNotice error={setup.error} action={<Button onClick={() => void setup.refetch()}>Try again</Button>} />
      )}
      {setup.data && (
        <form onSubmit={submit} className="space-y-5">
          <p className="text-soft">Scan this with an authenticator app, then type the code that it shows.</p>
          <div className="flex flex-wrap items-center gap-5">
            <QrCode text={setup.data.uri} label="QR code for an authenticator app" />
            <div className="min-w-0 flex-[1_1_12rem]">
              <p className="text-sm text-soft">Or type this key into the app:</p>
              <div className="mt-1 flex items-center gap-1">
                <code className="font-mono text-[0.85rem] wrap-anywhere">{inGroups(setup.data.secret)}</code>
                <CopyButton text={setup.data.secret} what="the key" isSmall />
              </div>
            </div>
          </div>
          <Field
            label="Code"
            name="code"
            inputMode="numeric"
            autoComplete="one-time-code"
            required
            autoFocus
            maxLength={12}
            value={code}
            onChange={(event) => setCode(event.target.value)}
            className="max-w-48 font-mono tracking-widest"
          />
          {confirm.isError && <ErrorNotice error={confirm.error} />}
          <DialogActions>
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" look="primary" disabled={code === ''} isPending={confirm.isPending}>
              Enable
            </Button>
          </DialogActions>
        </form>
      )}
    </Dialog>
  );
}

/** In groups of four, which are easier to type. */
function inGroups(secret: string): string {
  return secret.replaceAll(/.{4}(?=.)/g, '$& ');
}

function RecoveryCodes({ codes, onClose }: { readonly codes: readonly string[]; readonly onClose: () => void }) {
  const text = `${codes.join('\n')}\n`;
  const download = () => {
    const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
    const link = document.createElement('a');
    link.href = url;
    link.download = 'mayfly-recovery-codes.txt';
    link.click();
    URL.revokeObjectURL(url);
  };
  return (
    <Dialog title="Two-factor authentication is enabled" onClose={onClose} isDismissible={false}>
      <Notice>
        <strong className="font-semibold">Keep these recovery codes.</strong> Each of them signs you in once if you lose
        the app. They cannot be shown again.
      </Notice>
      <ul
        aria-label="Recovery codes"
        className="mt-4 grid grid-cols-2 gap-x-6 gap-y-1 rounded-lg border border-line bg-code px-5 py-4 font-mono text-[0.9rem]"
      >
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="mt-3 flex gap-2">
        <CopyButton text={text} what="the recovery codes" />
        <Button icon={<Download size={16} aria-hidden />} onClick={download}>
          Download
        </Button>
      </div>
      <DialogActions>
        <Button look="primary" onClick={onClose}>
          I have stored them
        </Button>
      </DialogActions>
    </Dialog>
  );
}
