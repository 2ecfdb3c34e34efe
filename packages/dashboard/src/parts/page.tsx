import { type ReactNode, useEffect, useRef } from 'react';

interface PageProps {
  readonly title: string;
  readonly description?: ReactNode;
  /** The main thing to do here. */
  readonly action?: ReactNode;
  readonly children: ReactNode;
}

/** A page below the header. Coming to it moves the focus to its title, so that it is read and the keyboard starts there. */
export function Page({ title, description, action, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <main id="main" className="column animate-appear pt-8 outline-none pb-20 md:pt-11">
      <title>{`${title} · Mayfly`}</title>
      <div className="mb-7 grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-6 gap-y-1.5">
        <h1
          ref={heading}
          tabIndex={-1}
          className="text-[1.75rem] font-bold tracking-[-0.02em] outline-none md:text-[2rem]"
        >
          {title}
        </h1>
        {action !== undefined && <div className="md:row-span-2 md:self-end">{action}</div>}
        {description !== undefined && (
          <p className="col-span-2 max-w-2xl text-soft md:col-span-1 md:col-start-1">{description}</p>
        )}
      </div>
      {children}
    </main>
  );
}

/** Stands for a table that is being loaded. */
export function Skeleton({ rows = 3 }: { readonly rows?: number }) {
  return (
    <div role="status" className="table-box animate-appear">
      <span className="sr-only">Loading</span>
      <div className="h-9 bg-panel" />
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className="flex items-center gap-6 border-line border-t px-4 py-5">
          <div className="h-3 w-1/4 animate-breathe rounded-sm bg-line" />
          <div className="h-3 w-1/6 animate-breathe rounded-sm bg-line" />
          <div className="h-3 w-1/5 animate-breathe rounded-sm bg-line" />
        </div>
      ))}
    </div>
  );
}
