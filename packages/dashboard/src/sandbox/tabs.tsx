import type { Sandbox } from '@mayfly/contract';
import { Link, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';

const tabs = [
  { to: '/sandboxes/$id', label: 'Overview' },
  { to: '/sandboxes/$id/terminal', label: 'Terminal' },
  { to: '/sandboxes/$id/files', label: 'Files' },
  { to: '/sandboxes/$id/commands', label: 'Commands' },
  { to: '/sandboxes/$id/ports', label: 'Ports' },
  { to: '/sandboxes/$id/snapshots', label: 'Snapshots' },
] as const;

/** The parts of a sandbox's page, each with an address of its own. The current one is scrolled into view where not all fit. */
export function Tabs({ sandbox: { id } }: { readonly sandbox: Sandbox }) {
  const row = useRef<HTMLElement>(null);
  const pathname = useRouterState({ select: ({ location }) => location.pathname });
  useEffect(() => {
    const current = row.current?.querySelector<HTMLElement>('[aria-current="page"]');
    if (!row.current || !current || pathname === '') return;
    row.current.scrollLeft = current.offsetLeft - (row.current.clientWidth - current.offsetWidth) / 2;
  }, [pathname]);
  return (
    <nav
      ref={row}
      aria-label="Sandbox"
      className="relative -mx-4 mt-6 mb-6 flex overflow-x-auto px-4 [scrollbar-width:none] md:mx-0 md:px-0"
    >
      <div className="flex w-max min-w-full border-line border-b">
        {tabs.map(({ to, label }) => (
          <Link
            key={to}
            to={to}
            params={{ id }}
            activeOptions={{ exact: true, includeSearch: false }}
            className="relative flex h-10 items-center px-3 text-sm whitespace-nowrap text-soft transition-colors first:pl-0 first:after:left-0 after:absolute after:inset-x-3 after:-bottom-px after:h-0.5 after:rounded-full hover:text-ink focus-visible:-outline-offset-2 md:px-3.5"
            activeProps={{ className: '!text-ink font-medium after:bg-accent', 'aria-current': 'page' }}
          >
            {label}
          </Link>
        ))}
      </div>
    </nav>
  );
}
