import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { RequestFailure } from '../api/failure.ts';
import { Button, buttonClass } from '../parts/button.tsx';
import { Logo } from '../parts/logo.tsx';
import { describeError } from '../parts/notice.tsx';

/** For an address below one of the dashboard's that leads nowhere. */
export function NotFound() {
  return (
    <Plain title="There is no page here">
      <p className="text-soft">The address may be mistyped, or what it led to is gone.</p>
      <Link to="/sandboxes" search={{}} className={buttonClass('primary', 'mt-6')}>
        Go to your sandboxes
      </Link>
    </Plain>
  );
}

/** For a page that could not be loaded or shown. */
export function PageError({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const { message, requestId } = describeError(error);
  const isTheirs = error instanceof RequestFailure;
  const retry = () => {
    reset();
    void router.invalidate();
  };
  return (
    <Plain title={isTheirs ? 'The page could not be loaded' : 'Something went wrong on this page'}>
      <p role="alert" className="text-soft wrap-anywhere">
        {message}
      </p>
      {requestId !== undefined && (
        <p className="mt-2 text-[0.8rem] text-soft">
          Request <code className="font-mono select-all">{requestId}</code>
        </p>
      )}
      <div className="mt-6 flex flex-wrap justify-center gap-2">
        <Button look="primary" onClick={retry}>
          Try again
        </Button>
        <Button onClick={() => location.reload()}>Reload the page</Button>
      </div>
    </Plain>
  );
}

function Plain({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <main id="main" className="grid min-h-[75dvh] animate-appear place-items-center px-6 py-16 text-center">
      <title>{`${title} · Mayfly`}</title>
      <div className="max-w-md">
        <div className="mb-5 flex justify-center text-accent opacity-80">
          <Logo size={56} />
        </div>
        <h1 className="mb-2 text-2xl font-bold tracking-tight">{title}</h1>
        {children}
      </div>
    </main>
  );
}
