import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type ParsedLocation,
  redirect,
} from '@tanstack/react-router';
import { isSignedOut } from './api/failure.ts';
import { hasSession, sessionQuery } from './api/queries.ts';
import { readCommandsSearch } from './commands/search-params.ts';
import { NotFound, PageError } from './layout/error-pages.tsx';
import { Loading, RootLayout } from './layout/root-layout.tsx';
import { readListSearch } from './sandboxes/list-search.ts';
import { returnPath, signInTarget } from './sign-in/return-path.ts';
import { readUsageSearch } from './usage/period.ts';

interface RouterContext {
  readonly queryClient: QueryClient;
}

const rootRoute = createRootRouteWithContext<RouterContext>()({ component: RootLayout, notFoundComponent: NotFound });

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  validateSearch: ({ from }: Record<string, unknown>): { from?: string } =>
    typeof from === 'string' ? { from: returnPath(from) } : {},
  component: lazyRouteComponent(() => import('./sign-in/sign-in-page.tsx'), 'SignInPage'),
});

/** Everything that needs a session. */
const signedInRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'signed-in',
  beforeLoad: ({ context, location }) => requireSession(context.queryClient, location),
  component: lazyRouteComponent(() => import('./layout/signed-in-layout.tsx'), 'SignedInLayout'),
});

const indexRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/sandboxes', search: {}, replace: true });
  },
});

const sandboxesRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/sandboxes',
  validateSearch: readListSearch,
  component: lazyRouteComponent(() => import('./sandboxes/sandboxes-page.tsx'), 'SandboxesPage'),
});

const sandboxRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/sandboxes/$id',
  component: lazyRouteComponent(() => import('./sandbox/sandbox-page.tsx'), 'SandboxPage'),
});

const overviewRoute = createRoute({
  getParentRoute: () => sandboxRoute,
  path: '/',
  component: lazyRouteComponent(() => import('./sandbox/overview-tab.tsx'), 'OverviewTab'),
});

const commandsRoute = createRoute({
  getParentRoute: () => sandboxRoute,
  path: '/commands',
  validateSearch: readCommandsSearch,
  component: lazyRouteComponent(() => import('./commands/commands-tab.tsx'), 'CommandsTab'),
});

const terminalRoute = createRoute({
  getParentRoute: () => sandboxRoute,
  path: '/terminal',
  component: lazyRouteComponent(() => import('./terminal/terminal-tab.tsx'), 'TerminalTab'),
});

const filesRoute = createRoute({
  getParentRoute: () => sandboxRoute,
  path: '/files',
  validateSearch: ({ path }: Record<string, unknown>): { path?: string } =>
    typeof path === 'string' && path.startsWith('/') ? { path } : {},
  component: lazyRouteComponent(() => import('./files/files-tab.tsx'), 'FilesTab'),
});

const portsRoute = createRoute({
  getParentRoute: () => sandboxRoute,
  path: '/ports',
  component: lazyRouteComponent(() => import('./ports/ports-tab.tsx'), 'PortsTab'),
});

const sandboxSnapshotsRoute = createRoute({
  getParentRoute: () => sandboxRoute,
  path: '/snapshots',
  component: lazyRouteComponent(() => import('./snapshots/snapshots-tab.tsx'), 'SnapshotsTab'),
});

const snapshotsRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/snapshots',
  component: lazyRouteComponent(() => import('./snapshots/snapshots-page.tsx'), 'SnapshotsPage'),
});

const usageRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/usage',
  validateSearch: readUsageSearch,
  component: lazyRouteComponent(() => import('./usage/usage-page.tsx'), 'UsagePage'),
});

const keysRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/keys',
  component: lazyRouteComponent(() => import('./keys/keys-page.tsx'), 'KeysPage'),
});

const settingsRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/settings',
  component: lazyRouteComponent(() => import('./settings/settings-page.tsx'), 'SettingsPage'),
});

const routeTree = rootRoute.addChildren([
  indexRoute,
  signInRoute,
  signedInRoute.addChildren([
    sandboxesRoute,
    sandboxRoute.addChildren([
      overviewRoute,
      commandsRoute,
      terminalRoute,
      filesRoute,
      portsRoute,
      sandboxSnapshotsRoute,
    ]),
    snapshotsRoute,
    usageRoute,
    keysRoute,
    settingsRoute,
  ]),
]);

export function createAppRouter(queryClient: QueryClient) {
  return createRouter({
    routeTree,
    context: { queryClient },
    defaultErrorComponent: PageError,
    defaultPendingComponent: Loading,
    defaultPendingMs: 500,
    defaultPreload: 'intent',
    scrollRestoration: true,
  });
}

async function requireSession(queryClient: QueryClient, location: ParsedLocation) {
  try {
    if (!hasSession(queryClient)) await queryClient.fetchQuery({ ...sessionQuery, staleTime: 0 });
  } catch (error) {
    if (isSignedOut(error)) throw redirect({ ...signInTarget(location.href), replace: true });
    // Without a connection, what is known stays visible.
    if (queryClient.getQueryData(sessionQuery.queryKey) === undefined) throw error;
  }
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
