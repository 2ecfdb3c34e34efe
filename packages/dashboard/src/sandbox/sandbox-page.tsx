import type { Sandbox } from '@mayfly/contract';
import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useParams } from '@tanstack/react-router';
import { ChevronLeft } from 'lucide-react';
import { type ReactNode, useEffect, useRef } from 'react';
import { RequestFailure } from '../api/failure.ts';
import { Button, buttonClass } from '../parts/button.tsx';
import { ErrorNotice } from '../parts/notice.tsx';
import { useDelayed } from '../parts/use-delayed.ts';
import { SandboxHeader } from './header.tsx';
import { Outcome } from './outcome.tsx';
import { sandboxQuery } from './queries.ts';
import { Tabs } from './tabs.tsx';

/** One sandbox: what it is, what can be done with it, and its tabs. */
export function SandboxPage() {
  const { id } = useParams({ from: '/signed-in/sandboxes/$id' });
  const { data, error, refetch } = useQuery(sandboxQuery(id));
  if (data) return <Known key={id} sandbox={data} />;
  if (error instanceof RequestFailure && error.status === 404) return <Unknown id={id} />;
  return (
    <Frame title="Sandbox">
      {error ? (
        <ErrorNotice error={error} action={<Button onClick={() => void refetch()}>Try again</Button>} />
      ) : (
        <HeaderSkeleton />
      )}
    </Frame>
  );
}

function Known({ sandbox }: { readonly sandbox: Sandbox }) {
  const { id, name } = sandbox;
  return (
    <Frame title={name ?? id}>
      <SandboxHeader sandbox={sandbox} />
      <Outcome sandbox={sandbox} />
      <Tabs sandbox={sandbox} />
      <Outlet />
    </Frame>
  );
}

interface FrameProps {
  readonly title: string;
  readonly children: ReactNode;
}

function Frame({ title, children }: FrameProps) {
  return (
    <main id="main" className="column animate-appear pt-5 pb-20 md:pt-7">
      <title>{`${title} · Mayfly`}</title>
      <Link
        to="/sandboxes"
        search={{}}
        className="-ml-1.5 mb-3 inline-flex items-center gap-1 rounded-md py-1 pr-2 pl-1 text-sm text-soft hover:text-ink"
      >
        <ChevronLeft size={16} aria-hidden />
        Sandboxes
      </Link>
      {children}
    </main>
  );
}

function Unknown({ id }: { readonly id: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <Frame title="No such sandbox">
      <div className="mt-4 rounded-xl border border-line border-dashed px-6 py-12 text-center md:px-10">
        <h1 ref={heading} tabIndex={-1} className="text-xl font-bold tracking-tight outline-none">
          There is no such sandbox
        </h1>
        <p className="mx-auto mt-2 max-w-md text-soft">
          Nothing is known about <code className="font-mono text-[0.82rem] wrap-anywhere text-ink">{id}</code>. It may
          belong to another account, or its record was removed some time after it ended.
        </p>
        <Link to="/sandboxes" search={{}} className={buttonClass('primary', 'mt-6')}>
          Go to your sandboxes
        </Link>
      </div>
    </Frame>
  );
}

function HeaderSkeleton() {
  const isSlow = useDelayed(true);
  return (
    <div role="status">
      <h1 className="sr-only">Loading the sandbox</h1>
      {isSlow && (
        <div aria-hidden className="animate-appear space-y-4">
          <div className="h-8 w-64 max-w-full animate-breathe rounded-md bg-line" />
          <div className="h-4 w-96 max-w-full animate-breathe rounded-md bg-line" />
          <div className="h-60 animate-breathe rounded-lg bg-panel" />
        </div>
      )}
    </div>
  );
}
