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
    <main id="main" className="mx-auto w-full max-w-300 animate-appear px-4 pt-8 pb-20 md:px-8 md:pt-11">
      <title>{`${title} · Mayfly`}</title>
      <div className="mb-7 flex flex-wrap items-end justify-between gap-x-6 gap-y-4">
        <div className="max-w-2xl">
          <h1
            ref={heading}
            tabIndex={-1}
            className="text-[1.75rem] font-bold tracking-[-0.02em] outline-none md:text-[2rem]"
          >
            {title}
          </h1>
          {description !== undefined && <p className="mt-1.5 text-soft">{description}</p>}
        </div>
        {action}
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
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike.
        <div key={row} className="flex items-center gap-6 border-line border-t px-4 py-5">
          <div className="h-3 w-1/4 animate-breathe rounded-sm bg-line" />
          <div className="h-3 w-1/6 animate-breathe rounded-sm bg-line" />
          <div className="h-3 w-1/5 animate-breathe rounded-sm bg-line" />
        </div>
      ))}
    </div>
  );
}
