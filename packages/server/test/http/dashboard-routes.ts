import { defaultLimits, defineOperations } from '@mayfly/contract';
import { dashboardOperations, unmountedOperations } from '@mayfly/contract/dashboard';
import { storeSnapshot } from '../app/stored-snapshot.ts';
import { password, type StubService, type TestBrowser } from './browser.ts';

/** One route below /app/api. */
export interface DashboardRoute {
  readonly id: string;
  readonly method: string;
  /** Below /app/api, with parameters in braces. */
  readonly path: string;
  readonly signedOut: boolean;
}

/** Every operation of the dashboard: its own, and the operations of /v1 that are mounted beside them. */
export const dashboardRoutes: readonly DashboardRoute[] = [
  ...Object.values(dashboardOperations).map(({ id, method, path, ...more }) => ({
    id,
    method,
    path,
    signedOut: 'signedOut' in more,
  })),
  ...Object.values(defineOperations(defaultLimits))
    .filter(({ id }) => !unmountedOperations.some((unmounted) => unmounted === id))
    .map(({ id, method, path }) => ({ id, method, path, signedOut: false })),
];

/** Bodies that pass validation, so that nothing but what is tested refuses a request. */
export const validBodies: Readonly<Record<string, object>> = {
  signIn: { email: 'a@localhost', password },
  signInWithLink: { token: 'unknown' },
  setPassword: { current_password: password, new_password: 'another good password' },
  confirmTwoFactor: { code: '000000' },
  disableTwoFactor: { code: '000000' },
  createApiKey: { name: 'ci' },
  createSandbox: {},
  extendSandbox: { minutes: 5 },
  forkSandbox: {},
  rollbackSandbox: { snapshot_id: 'snap_unknown' },
  runCommand: { command: 'true' },
  writeStdin: { data: 'x' },
  writeFile: { path: 'a.txt', content: 'x' },
  exposePort: { port: 3000 },
};

const queries: Readonly<Record<string, string>> = { readFile: '?path=a.txt', deleteFile: '?path=a.txt' };

/** The URL of a route with these ids in place of its parameters. */
export function urlOf({ id: operation, path }: DashboardRoute, id = 'unknown'): string {
  const filled = path.replace('{port}', '3000').replace('{id}', id);
  return `/app/api${filled}${queries[operation] ?? ''}`;
}

/** What an account has, by the first part of the path that names it. */
export type OwnedIds = Readonly<Record<'sandboxes' | 'snapshots' | 'executions' | 'keys' | 'sessions', string>>;

/** Gives the account of a browser one of everything. */
export async function ownEverything(service: StubService, browser: TestBrowser): Promise<OwnedIds> {
  const idIn = (body: unknown) => (body as { readonly id: string }).id;
  const sandboxes = idIn((await browser.post('/sandboxes')).body);
  const executions = idIn((await browser.post(`/sandboxes/${sandboxes}/exec`, { command: 'true' })).body);
  const keys = idIn((await browser.post('/keys', { name: 'mine' })).body);
  const { data } = (await browser.get('/sessions')).body as unknown as { readonly data: readonly { id: string }[] };
  const [session] = data;
  if (session === undefined) throw new Error('the browser is not signed in');
  return { sandboxes, executions, keys, sessions: session.id, snapshots: await storeSnapshot(service, sandboxes) };
}
