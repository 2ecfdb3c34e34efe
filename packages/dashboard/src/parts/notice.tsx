import { CircleAlert, Info } from 'lucide-react';
import type { ReactNode } from 'react';
import { RequestFailure } from '../api/failure.ts';

interface NoticeProps {
  readonly kind?: 'error' | 'hint';
  readonly children: ReactNode;
  readonly action?: ReactNode;
}

/** A sentence in a box. Errors are announced as soon as they appear. */
export function Notice({ kind = 'hint', children, action }: NoticeProps) {
  const isError = kind === 'error';
  const Icon = isError ? CircleAlert : Info;
  return (
    <div
      {...(isError && { role: 'alert', ref: bringIntoDialog })}
      className={`flex animate-appear scroll-mb-24 items-start gap-2.5 rounded-md px-3.5 py-2.5 text-sm ${isError ? 'bg-red/9 text-ink' : 'bg-tint text-ink'}`}
    >
      <Icon size={17} aria-hidden className={`mt-0.5 shrink-0 ${isError ? 'text-red' : 'text-accent'}`} />
      <div className="min-w-0 grow wrap-anywhere">{children}</div>
      {action}
    </div>
  );
}

/** In a dialog that is longer than the window, what failed may be out of sight of the button. */
function bringIntoDialog(notice: HTMLElement | null): void {
  if (notice?.closest('dialog')) notice.scrollIntoView({ block: 'nearest' });
}

/** What went wrong, with the request id for the operator where the person can do nothing about it. */
export function ErrorNotice({ error, action }: { readonly error: unknown; readonly action?: ReactNode }) {
  const { message, requestId } = describeError(error);
  return (
    <Notice kind="error" action={action}>
      {message}
      {requestId !== undefined && (
        <span className="mt-1 block text-[0.8rem] text-soft">
          Request <code className="font-mono select-all">{requestId}</code>
        </span>
      )}
    </Notice>
  );
}

/** The request id is of use only for failures of the service: what a person mistyped needs no operator. */
export function describeError(error: unknown): { readonly message: string; readonly requestId?: string | undefined } {
  if (!(error instanceof RequestFailure)) return { message: error instanceof Error ? error.message : String(error) };
  const isTheirs = error.status === undefined || error.status >= 500 || error.status === 403;
  return { message: error.message, requestId: isTheirs ? error.requestId : undefined };
}
