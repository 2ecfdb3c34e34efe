import { isAbsolute, join, resolve } from 'node:path';
import type { Arch } from '../machines/qemu/engine.ts';
import { type Bind, libraryBinds } from '../machines/qemu/jail/spec.ts';

/** The files that the service needs, as absolute paths. */
export interface ServiceFiles {
  readonly arch: Arch;
  readonly nodePath: string;
  readonly checkout: string;
  /** The service's own part of the data folder: the only place where it can write, besides /tmp. */
  readonly serviceDir: string;
  /** Where the sockets of the host process and of agents are. */
  readonly runDir: string;
  /** Where Node.js finds its code compiled. */
  readonly compiledCodeDir?: string | undefined;
  /** The environment that the service is started with, for the files that its settings name. */
  readonly env: NodeJS.ProcessEnv;
}

/** Of a checkout, what the service's code consists of. */
const codePaths = ['package.json', 'node_modules', 'packages/contract', 'packages/server'];

/** How names are resolved, which time zones there are, and whose certificates the system trusts. */
const systemFiles = [
  '/etc/gai.conf',
  '/etc/group',
  '/etc/host.conf',
  '/etc/hosts',
  '/etc/localtime',
  '/etc/nsswitch.conf',
  '/etc/passwd',
  '/etc/resolv.conf',
  '/etc/services',
  '/etc/ssl/certs',
  '/usr/local/share/ca-certificates',
  '/usr/share/ca-certificates',
  '/usr/share/zoneinfo',
];

/** Everything of the host that the service sees. */
export function serviceBinds(files: ServiceFiles): Bind[] {
  const { arch, nodePath, checkout, serviceDir, runDir, compiledCodeDir, env } = files;
  const readable = (path: string): Bind => ({ path, mode: 'ro' });
  return [
    ...libraryBinds(arch),
    ...systemFiles.map((path): Bind => ({ path, mode: 'ro', optional: true })),
    ...codePaths.map((path) => readable(join(checkout, path))),
    // Without it the service says that the dashboard is not built.
    { path: join(checkout, 'packages/dashboard/dist'), mode: 'ro', optional: true },
    ...(compiledCodeDir === undefined ? [] : [{ path: compiledCodeDir, mode: 'ro', optional: true } as const]),
    { path: nodePath, mode: 'exec' },
    { path: serviceDir, mode: 'rw' },
    // A socket can be connected to through a read-only mount, if its owner and mode allow that.
    readable(runDir),
    // What is in its own folder it sees anyway. Root must bind nothing there by name: the service could replace it with a link.
    ...[...namedFiles(env).map(readable), ...databaseSockets(env)].filter(({ path }) => !isIn(path, serviceDir)),
  ];
}

function isIn(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** Parameters of a database URL that name files. */
const databaseFileParameters = ['sslcert', 'sslkey', 'sslrootcert'];

/** Files that settings name: certificates, and the password file of PostgreSQL. */
function namedFiles(env: NodeJS.ProcessEnv): string[] {
  const parameters = databaseUrlOf(env)?.searchParams;
  const files = databaseFileParameters.map((name) => parameters?.get(name));
  return absolute([env.NODE_EXTRA_CA_CERTS, env.PGPASSFILE, ...files]);
}

/** What must exist before the service is started, because it gets a view of it. */
export function requiredPaths(env: NodeJS.ProcessEnv): string[] {
  const sockets = databaseSockets(env).filter(({ optional }) => !optional);
  return [...namedFiles(env), ...sockets.map(({ path }) => path)];
}

/** Folders of many programs, of which the service sees only its database's socket. After a restart of the database it needs one too. */
const sharedFolders = ['/tmp', '/var/tmp', '/run', '/var/run'];

/** The folders of the database's unix socket, or the socket itself if the folder is not only the database's. */
function databaseSockets(env: NodeJS.ProcessEnv): Bind[] {
  const url = databaseUrlOf(env);
  const hosts = [env.PGHOST, url && decodeURIComponent(url.hostname), url?.searchParams.get('host')];
  const port = url?.port || url?.searchParams.get('port') || env.PGPORT || '5432';
  return absolute(hosts).map((host): Bind => {
    const folder = resolve(host);
    if (!sharedFolders.includes(folder)) return { path: folder, mode: 'ro' };
    // If it is missing, the service says that it cannot reach the database.
    return { path: join(folder, `.s.PGSQL.${port}`), mode: 'ro', optional: true };
  });
}

function databaseUrlOf({ MAYFLY_DATABASE_URL: url }: NodeJS.ProcessEnv): URL | undefined {
  return url && URL.canParse(url) ? new URL(url) : undefined;
}

/** Without repetitions. */
function absolute(paths: readonly (string | null | undefined)[]): string[] {
  return [...new Set(paths.filter((path) => typeof path === 'string').filter(isAbsolute))];
}

/** What the service inherits of the environment: its settings, PostgreSQL's, and the variables of Node and the C library that change no code. */
const inherited = /^(?:MAYFLY_\w+|PG[A-Z]+|TZ|LANG|LC_\w+|NODE_EXTRA_CA_CERTS)$/;

export function serviceEnvironment(env: NodeJS.ProcessEnv): Record<string, string> {
  const own: Record<string, string> = { TZ: Intl.DateTimeFormat().resolvedOptions().timeZone };
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && inherited.test(name)) own[name] = value;
  }
  return own;
}
