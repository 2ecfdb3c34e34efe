import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { type AddressInfo, connect, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type ConfinedFolders,
  confinedFolders,
  confinedPid,
  exitCodeOf,
  linesOf,
  threadStatuses,
} from '../../test/confinement/confined.ts';
import { hasGo, jailProgram } from '../../test/network/go-tools.ts';
import { selfSigned } from '../../test/network/self-signed.ts';
import { RecordedLog } from '../../test/recorded-log.ts';
import { PostgresServer } from '../../test/store/postgres-server.ts';
import { PortHolder } from '../supervisor/port-holder.ts';
import type { ListeningPort } from './listening-ports.ts';
import { serviceConfinement } from './spec.ts';
import { notStartedCode, startConfined } from './start-confined.ts';
import { copyTlsFiles } from './tls-copy.ts';

const script = fileURLToPath(new URL('../../test/confinement/confined-service.ts', import.meta.url));
const key = 'chosen-by-operator-0123456789abcdef';
const headers = { authorization: `Bearer ${key}` };

interface Ready {
  readonly url: string;
  readonly previewUrl: string;
  readonly rootFile?: string;
}

/** Sends a request over TLS to a server of this host. */
async function getOverTls(
  url: string,
  ca: string,
  { host = '127.0.0.1', servername = 'localhost' } = {},
): Promise<IncomingMessage> {
  const { port, pathname } = new URL(url);
  return await new Promise((resolve, reject) => {
    const options = { host, port, path: pathname, ca, agent: false, servername };
    request({ ...options, headers: { ...headers, host: `${servername}:${port}` } }, resolve)
      .once('error', reject)
      .end();
  });
}

describe.runIf(process.getuid?.() === 0 && hasGo())('the service, confined', () => {
  let folders: ConfinedFolders;
  let running: ChildProcess | undefined;
  beforeEach(async () => {
    folders = await confinedFolders();
  });
  afterEach(async () => {
    running?.kill('SIGKILL');
    if (running) await exitCodeOf(running);
    await folders[Symbol.asyncDispose]();
  });

  /** Starts the service with settings. */
  async function start(settings: NodeJS.ProcessEnv = {}, listenFrom?: string) {
    const env = {
      MAYFLY_DATA_DIR: folders.serviceDir,
      MAYFLY_PORT: '0',
      MAYFLY_PREVIEW_PORT: '0',
      MAYFLY_POOL: 'none',
      MAYFLY_MEMORY_RESERVE_MB: '0',
      MAYFLY_BOOTSTRAP_API_KEY: key,
      ...settings,
    };
    const plan = { ...folders.plan([script], env), listenFrom };
    const child = startConfined(jailProgram(), serviceConfinement(plan), { stdout: 'pipe' });
    running = child;
    const lines = linesOf(child);
    const next = async <Line>() => JSON.parse(String((await lines.next()).value)) as Line;
    const ready = await next<Ready>();
    const stop = async () => {
      child.kill('SIGTERM');
      const stopped = await next<{ checks: string[] }>();
      return { ...stopped, code: await exitCodeOf(child) };
    };
    return { ...ready, child, stop };
  }

  it('has no privilege in any of its threads, nor has its parent, and ends when that is killed', async () => {
    const service = await start();
    const { uid, gid } = folders.user;
    const none = '0000000000000000';
    const expected = {
      Uid: [uid, uid, uid, uid].join('\t'),
      Gid: [gid, gid, gid, gid].join('\t'),
      Groups: '',
      ...{ CapInh: none, CapPrm: none, CapEff: none, CapBnd: none, CapAmb: none },
      NoNewPrivs: '1',
    };
    const threads = threadStatuses(confinedPid(service.child));
    expect(threads.length).toBeGreaterThan(4);
    for (const status of threads) expect(status).toMatchObject({ ...expected, Seccomp: '2' });
    for (const status of threadStatuses(service.child.pid ?? 0)) expect(status).toMatchObject(expected);
    const pid = confinedPid(service.child);
    service.child.kill('SIGKILL');
    await exitCodeOf(service.child);
    await expect.poll(() => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => 'gone')).toMatch(/^gone$|\) Z /);
  });

  it('serves HTTP, keeps its records in SQLite in its part of the data folder, stops in order and finds them again', async () => {
    const first = await start();
    const created = await fetch(`${first.url}/v1/sandboxes`, { method: 'POST', headers });
    expect(created.status).toBe(201);
    const { id } = (await created.json()) as { id: string };
    const body = JSON.stringify({ command: 'make' });
    const ran = await fetch(`${first.url}/v1/sandboxes/${id}/exec`, { method: 'POST', headers, body });
    expect(await ran.json()).toMatchObject({ status: 'completed', stdout: 'ran make\n' });
    const metrics = await fetch(`${first.url}/metrics`);
    expect(await metrics.text()).toContain('mayfly_');
    const files = ['admin.sock', 'ballast', 'id', 'lock', 'mayfly.db', 'preview-authority'];
    await expect.poll(() => readdir(folders.serviceDir)).toEqual(expect.arrayContaining(files));
    expect(await stat(join(folders.serviceDir, 'mayfly.db'))).toMatchObject({ uid: folders.user.uid });
    // Previews, with a certificate of the local authority.
    const root = await readFile(first.rootFile ?? '', 'utf8');
    const servername = new URL(first.previewUrl.replace('*', 'unknown')).hostname;
    const visit = await getOverTls(first.previewUrl.replace('*', 'unknown'), root, { servername });
    expect(visit.statusCode).toBe(404);
    expect(await text(visit)).not.toBe('');
    const { code, checks } = await first.stop();
    expect(code).toBe(0);
    expect(checks).toEqual(['http2 echo', 'worker 42', 'watch', 'lookup true, cpus true', 'child EPERM']);

    const second = await start();
    const list = await fetch(`${second.url}/v1/sandboxes`, { headers });
    expect(await list.json()).toMatchObject({ data: [{ id }] });
    expect((await second.stop()).code).toBe(0);
  });

  it('serves HTTPS with the operator’s certificate, which only root can read, and picks up its renewal', async () => {
    const operators = { certFile: join(folders.base, 'tls.crt'), keyFile: join(folders.base, 'tls.key') };
    const renew = async () => {
      const pair = selfSigned(['localhost', '*.localhost'], []);
      await writeFile(operators.keyFile, pair.key, { mode: 0o600 });
      await writeFile(operators.certFile, pair.cert, { mode: 0o600 });
      return pair.cert;
    };
    const cert = await renew();
    const { gid } = folders.user;
    const options = { folder: join(folders.runDir, 'tls'), gid, log: new RecordedLog(), periodMs: 20 };
    await using copies = await copyTlsFiles(operators, options);
    const { certFile: MAYFLY_TLS_CERT, keyFile: MAYFLY_TLS_KEY } = copies.paths;
    const service = await start({ MAYFLY_API_TLS: 'true', MAYFLY_TLS_CERT, MAYFLY_TLS_KEY });
    const account = await getOverTls(`${service.url}/v1/account`, cert);
    expect(account.statusCode).toBe(200);
    expect(await json(account)).toMatchObject({ object: 'account' });
    expect(await stat(MAYFLY_TLS_KEY)).toMatchObject({ uid: 0, gid, mode: 0o100640 });
    const renewed = await renew();
    await expect.poll(() => readFile(MAYFLY_TLS_CERT, 'utf8')).toBe(renewed);
    expect((await service.stop()).code).toBe(0);
  });

  /** Holds ports as the supervisor does. */
  const hold = (ports: readonly ListeningPort[]) =>
    PortHolder.start({
      jailPath: jailProgram(),
      user: folders.user,
      ports,
      socketPath: join(dirname(folders.serviceDir), 'ports.sock'),
    });

  it('serves ports below 1024 without the right to open them', async () => {
    // An address of the loopback network that nobody else uses.
    const host = '127.0.0.78';
    await using holder = await hold([
      { name: 'api', address: host, port: 1013 },
      { name: 'previews', address: host, port: 1014 },
    ]);
    const settings = { MAYFLY_HOST: host, MAYFLY_PORT: '1013', MAYFLY_PREVIEW_PORT: '1014' };
    const service = await start(settings, holder.socketPath);
    expect([service.url, service.previewUrl]).toEqual([`http://${host}:1013`, 'https://*.localhost:1014/']);
    expect((await fetch(`${service.url}/v1/account`, { headers })).status).toBe(200);
    const visit = await getOverTls(
      service.previewUrl.replace('*', 'unknown'),
      await readFile(service.rootFile ?? '', 'utf8'),
      {
        host,
        servername: 'unknown.localhost',
      },
    );
    expect(visit.statusCode).toBe(404);
    visit.resume();
    expect((await service.stop()).code).toBe(0);
  });

  it('is killed and started again while its ports stay open: nobody else gets them, and who connects meanwhile is served', async () => {
    const [host, second] = ['127.0.0.78', '127.0.0.79'];
    const holder = await hold([
      { name: 'api', address: host, port: 0 },
      { name: 'api', address: second, port: 0 },
      { name: 'api', address: '192.0.2.1', port: 0, optional: true },
      { name: 'previews', address: host, port: 0 },
    ]);
    await using _held = holder;
    const settings = { MAYFLY_HOST: host };
    const first = await start(settings, holder.socketPath);
    const port = Number(new URL(first.url).port);
    expect((await fetch(`http://${second}:${port}/healthz`)).status).toBe(200);
    const pid = confinedPid(first.child);
    first.child.kill('SIGKILL');
    await expect.poll(() => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => 'gone')).toMatch(/^gone$|\) Z /);

    for (const address of [host, second]) {
      const other = createServer().listen(port, address);
      await expect(once(other, 'listening')).rejects.toMatchObject({ code: 'EADDRINUSE' });
    }
    const waiting = [host, second].map((address) => {
      const client = connect({ host: address, port });
      client.write(`GET /healthz HTTP/1.1\r\nhost: ${address}\r\nconnection: close\r\n\r\n`);
      return { client, response: text(client) };
    });
    await Promise.all(waiting.map(({ client }) => once(client, 'connect')));

    const next = await start(settings, holder.socketPath);
    expect(next.url).toBe(first.url);
    for (const { response } of waiting) expect(await response).toMatch(/^HTTP\/1\.1 (?:200|503) /);
    await holder[Symbol.asyncDispose]();
    expect(holder.isUsable).toBe(false);
    expect((await fetch(`${next.url}/healthz`)).status).toBe(200);
    expect((await next.stop()).code).toBe(0);
    await expect(once(connect({ host, port }), 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('is not started without the process that holds its ports, which says what it could not open', async () => {
    const taken = createServer().listen(0, '127.0.0.78');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    await expect(hold([{ name: 'api', address: '127.0.0.78', port }])).rejects.toThrow(`exit code ${notStartedCode}`);
    taken.close();
    const plan = { ...folders.plan([script]), listenFrom: '/nowhere/ports.sock' };
    const child = startConfined(jailProgram(), serviceConfinement(plan), { stdout: 'pipe', stderr: 'pipe' });
    const said = child.stderr ? await text(child.stderr) : '';
    expect(said).toContain('mayfly-jail: listen: connect to /nowhere/ports.sock: no such file or directory');
    expect(await exitCodeOf(child)).toBe(notStartedCode);
  });

  describe('with PostgreSQL', () => {
    let server: PostgresServer;
    beforeAll(async () => {
      server = await PostgresServer.create();
    });
    afterAll(() => server?.remove());

    it('keeps its records there', async () => {
      const service = await start({ MAYFLY_DATABASE_URL: server.url(await server.createDatabase()) });
      const created = await fetch(`${service.url}/v1/sandboxes`, { method: 'POST', headers });
      expect(created.status).toBe(201);
      expect((await service.stop()).code).toBe(0);
      expect(await readdir(folders.serviceDir)).not.toContain('mayfly.db');
    });
  });

  it('says why it could not be started', async () => {
    const spec = serviceConfinement(folders.plan([script]));
    const child = startConfined(jailProgram(), { ...spec, folder: '/nowhere' }, { stdout: 'pipe', stderr: 'pipe' });
    const said = child.stderr ? await text(child.stderr) : '';
    expect(said).toContain('mayfly-jail: enter the view: no such file or directory');
    expect(await exitCodeOf(child)).toBe(notStartedCode);
  });

  // util-linux's script runs a command on a terminal of its own.
  it.runIf(existsSync('/usr/bin/script'))(
    'sees the terminal of npm start, for the first key, and cannot read from it',
    async () => {
      const code = [
        'const read = (fd) => { try { return require("fs").readSync(fd, Buffer.alloc(9)) } catch (error) { return error.code } }',
        'console.log(JSON.stringify([process.stdout.isTTY, process.stderr.isTTY, process.stdout.columns > 0, read(1), read(2)]))',
      ].join('\n');
      const document = join(folders.base, 'confinement.json');
      await writeFile(document, JSON.stringify(serviceConfinement(folders.plan(['-e', code]))), { mode: 0o600 });
      const command = `stty columns 80; ${jailProgram()} confine ${document}`;
      const child = spawn('/usr/bin/script', ['-qec', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] });
      running = child;
      child.stdin.write('typed\n');
      const lines = linesOf(child);
      let shown = '';
      while (!shown.startsWith('[')) shown = String((await lines.next()).value);
      expect(JSON.parse(shown)).toEqual([true, true, true, 'EBADF', 'EBADF']);
      child.stdin.end();
      expect(await exitCodeOf(child)).toBe(0);
    },
  );

  it('costs little to start', async () => {
    const run = async (start: () => ChildProcess): Promise<number> => {
      const startedMs = performance.now();
      expect(await exitCodeOf(start())).toBe(0);
      return performance.now() - startedMs;
    };
    const spec = serviceConfinement(folders.plan(['-e', '0']));
    const plainMs: number[] = [];
    const confinedMs: number[] = [];
    for (let round = 0; round < 7; round++) {
      plainMs.push(await run(() => spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' })));
      confinedMs.push(await run(() => startConfined(jailProgram(), spec, { stdout: 'ignore', stderr: 'ignore' })));
    }
    const [plain = 0, confined = 0] = [plainMs, confinedMs].map((values) => values.toSorted((a, b) => a - b)[3]);
    process.stdout.write(
      `start and end of Node, median of 7: ${plain.toFixed(0)} ms plain, ${confined.toFixed(0)} ms confined\n`,
    );
    // Observed: 1.3 to 3 times, 10 to 40 ms unless the host is overloaded.
    expect(confined).toBeLessThan(plain * 20);
  });
});
