import { isAbsolute, join } from 'node:path';
import type { Arch } from '../qemu/engine.ts';
import { type Bind, libraryBinds } from '../qemu/jail/spec.ts';

/** The files that the service needs, as absolute paths. */
export interface ServiceFiles {
  readonly arch: Arch;
  readonly nodePath: string;
  readonly checkout: string;
  /** The service's own part of the data folder: the only place where it can write, besides /tmp. */
  readonly serviceDir: string;
  /** Where the sockets to the host and to agents are. */
  readonly runDir: string;
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
  '/usr/share/ca-certificates',
  '/usr/share/zoneinfo',
];

/** Everything of the host that the service sees. */
export function serviceBinds({ arch, nodePath, checkout, serviceDir, runDir, env }: ServiceFiles): Bind[] {
  const readable = (path: string): Bind => ({ path, mode: 'ro' });
  return [
    ...libraryBinds(arch),
    ...systemFiles.map((path): Bind => ({ path, mode: 'ro', optional: true })),
    ...codePaths.map((path) => readable(join(checkout, path))),
    { path: nodePath, mode: 'exec' },
    { path: serviceDir, mode: 'rw' },
    // A socket can be connected to through a read-only mount, if its owner and mode allow that.
    readable(runDir),
    ...namedFiles(env).map(readable),
  ];
}

/** Parameters of a database URL that name files. */
const databaseFileParameters = ['sslcert', 'sslkey', 'sslrootcert'];

/** Files and folders outside of the data folder that settings name: certificates of the database and the folder of its socket. */
export function namedFiles({
  MAYFLY_DATABASE_URL: databaseUrl,
  NODE_EXTRA_CA_CERTS,
  PGHOST,
}: NodeJS.ProcessEnv): string[] {
  const named = [NODE_EXTRA_CA_CERTS, PGHOST];
  if (databaseUrl && URL.canParse(databaseUrl)) {
    const { hostname, searchParams } = new URL(databaseUrl);
    const files = databaseFileParameters.map((name) => searchParams.get(name) ?? undefined);
    named.push(decodeURIComponent(hostname), searchParams.get('host') ?? undefined, ...files);
  }
  return [...new Set(named.filter((path) => path !== undefined && isAbsolute(path)))] as string[];
}

/** What the service inherits of the environment: its settings, PostgreSQL's, and those of Node and the C library that change no code. */
const inherited = /^(?:MAYFLY_\w+|PG[A-Z]+|TZ|LANG|LC_\w+|NODE_EXTRA_CA_CERTS)$/;

export function serviceEnvironment(env: NodeJS.ProcessEnv): Record<string, string> {
  const own: Record<string, string> = { TZ: Intl.DateTimeFormat().resolvedOptions().timeZone };
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && inherited.test(name)) own[name] = value;
  }
  return own;
}
