import { useMutation, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { Link, Outlet, useNavigate } from '@tanstack/react-router';
import { BookOpen, Box, Camera, ChartColumn, ChevronDown, CircleUser, KeyRound, LogOut, Settings } from 'lucide-react';
import { useAccountChanges } from '../api/changes.ts';
import { leaveSession, sessionQuery } from '../api/queries.ts';
import { request } from '../api/request.ts';
import { announce } from '../parts/announcements.tsx';
import { Logo } from '../parts/logo.tsx';
import { Menu, MenuItem, MenuLabel, MenuSeparator } from '../parts/menu.tsx';
import { describeError } from '../parts/notice.tsx';
import { ThemeMenu } from '../theme/theme-menu.tsx';

const places = [
  { to: '/sandboxes', label: 'Sandboxes', Icon: Box },
  { to: '/snapshots', label: 'Snapshots', Icon: Camera },
  { to: '/keys', label: 'API keys', Icon: KeyRound },
  { to: '/usage', label: 'Usage', Icon: ChartColumn },
  { to: '/settings', label: 'Settings', Icon: Settings },
] as const;

const placeClass =
  'relative flex h-full items-center whitespace-nowrap text-soft transition-colors after:absolute after:-bottom-px after:h-0.5 after:rounded-full hover:text-ink focus-visible:-outline-offset-2';
const activePlace = { className: '!text-ink font-medium after:bg-accent' };

/** The header with the way to every page, and the page. */
export function SignedInLayout() {
  useAccountChanges();
  return (
    <>
      <button
        type="button"
        onClick={skipToContent}
        className="fixed -top-20 left-4 z-40 rounded-md bg-page px-4 py-2 text-accent shadow-float focus:top-2"
      >
        Skip to the content
      </button>
      <header className="sticky top-0 z-20 border-line border-b bg-page">
        <div className="column flex h-14 items-center gap-2">
          <Link
            to="/sandboxes"
            search={{}}
            className="mr-6 flex items-center gap-2.5"
            aria-label="Mayfly, your sandboxes"
          >
            <span className="text-accent">
              <Logo />
            </span>
            <strong className="text-base font-bold">Mayfly</strong>
          </Link>
          <nav aria-label="Pages" className="hidden h-full md:flex">
            {places.map(({ to, label, Icon }) => (
              <Link
                key={to}
                to={to}
                activeOptions={{ includeSearch: false }}
                className={`${placeClass} gap-2 px-2.5 text-sm after:inset-x-2.5 lg:px-3 lg:after:inset-x-3`}
                activeProps={activePlace}
              >
                <Icon size={16} aria-hidden />
                {label}
              </Link>
            ))}
          </nav>
          <div className="ml-auto flex items-center gap-1">
            <a
              href="/docs"
              target="_blank"
              rel="noreferrer"
              className="hidden h-9 items-center gap-2 rounded-md px-3 text-sm text-soft hover:bg-panel hover:text-ink md:flex"
            >
              <BookOpen size={17} aria-hidden />
              API reference<span className="sr-only"> (opens in a new tab)</span>
            </a>
            <ThemeMenu />
            <AccountMenu />
          </div>
        </div>
        <nav aria-label="Pages" className="grid h-13 auto-cols-fr grid-flow-col border-line border-t px-1 md:hidden">
          {places.map(({ to, label, Icon }) => (
            <Link
              key={to}
              to={to}
              activeOptions={{ includeSearch: false }}
              className={`${placeClass} flex-col justify-center gap-1 text-[0.7rem] leading-none after:inset-x-2`}
              activeProps={activePlace}
            >
              <Icon size={17} aria-hidden />
              {label}
            </Link>
          ))}
        </nav>
      </header>
      <Outlet />
    </>
  );
}

/** Moves the focus past the header. */
function skipToContent(): void {
  const main = document.getElementById('main');
  if (!main) return;
  main.tabIndex = -1;
  main.focus();
}

function AccountMenu() {
  const { data: session } = useSuspenseQuery(sessionQuery);
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const signOut = useMutation({
    mutationFn: () => request('/session', { method: 'DELETE' }),
    onSuccess: async () => {
      await leaveSession(queryClient, () => navigate({ to: '/sign-in', search: {} }));
      announce('You are signed out.');
    },
    onError: (error) => announce(`You are still signed in. ${describeError(error).message}`),
  });
  const { email } = session.account;
  return (
    <Menu
      label={`Account ${email}`}
      trigger={
        <>
          <CircleUser size={18} aria-hidden />
          <span className="hidden max-w-56 truncate lg:inline">{email}</span>
          <ChevronDown size={14} aria-hidden className="hidden md:block" />
        </>
      }
      triggerClass="flex h-9 items-center gap-2 rounded-md px-2.5 text-sm text-soft hover:bg-panel hover:text-ink aria-expanded:bg-panel"
    >
      <MenuLabel>
        Signed in as
        <span className="block max-w-64 text-sm font-medium wrap-anywhere text-ink">{email}</span>
      </MenuLabel>
      <MenuSeparator />
      <MenuItem
        icon={<Settings size={16} aria-hidden />}
        label="Settings"
        onSelect={() => void navigate({ to: '/settings' })}
      />
      <MenuItem
        icon={<BookOpen size={16} aria-hidden />}
        label="API reference"
        onSelect={() => void window.open('/docs', '_blank', 'noreferrer')}
      />
      <MenuItem icon={<LogOut size={16} aria-hidden />} label="Sign out" onSelect={() => signOut.mutate()} />
    </Menu>
  );
}
