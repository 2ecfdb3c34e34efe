import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canOpenLaboratory, forbiddenAddresses, hostAddresses, Laboratory } from '#server-test/network/laboratory.ts';
import type { RpcChild } from '#server-test/network/rpc-child.ts';
import { inDoubt, measureBeside, neighbourBound } from '../hostile/neighbour.ts';
import { preparedHost } from '../support/prepared.ts';
import { selfSigned } from './self-signed.ts';

let laboratory: Laboratory;
let internet: RpcChild;
let host: RpcChild;
let machines: RpcChild;
let folder: string;
let before: string;
let website: ChildProcess;
const identity = selfSigned(['one.example', 'two.example'], ['203.0.113.1', '203.0.113.2']);

beforeAll(async () => {
  expect(canOpenLaboratory, 'the suite needs root and Go; npm test has both').toBe(true);
  folder = await mkdtemp(join(tmpdir(), 'mayfly-net-'));
  ({ laboratory, internet } = await Laboratory.open());
  for (const port of [25, 465, 587]) await internet.ask('listenTcp', { port });
  const server = fileURLToPath(new URL('./https-server.ts', import.meta.url));
  const entering = ['-t', String(internet.pid), '-n', '--'];
  website = spawn('nsenter', [...entering, process.execPath, server, JSON.stringify(identity)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (website.stdout) await once(website.stdout, 'data', { signal: AbortSignal.timeout(20_000) });
  await internet.ask('listenUdp', { port: 7777, address: '203.0.113.1' });
  const names = { 'one.example': ['203.0.113.1'], 'two.example': ['198.51.100.1'] };
  await internet.ask('serveDns', { address: '203.0.113.53', ttlSeconds: 60, names });
  host = laboratory.hostProgram();
  await host.ask('listenTcp', { port: 9000 });
  before = laboratory.snapshot();
  machines = laboratory.worker(join(import.meta.dirname, '../support/machines-worker.ts'));
  const { resolvConfPath } = laboratory;
  await machines.ask('open', { host: preparedHost(), dataDir: folder, resolvConfPath });
  await machines.ask('launch', { name: 'one' });
  await machines.ask('launch', { name: 'other' });
}, 120_000);
afterAll(async () => {
  website?.kill('SIGKILL');
  await laboratory[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const run = (command: string, id = 'one') =>
  machines.ask<{ exitCode: number; stdout: string }>('run', { name: id, command });

/** What comes of many TCP connections tried at once from inside: "open", "refused" or "silent", and how long the slowest took. */
const tryTcp = async (targets: readonly string[], id = 'one') => {
  const script = `import socket, sys, time, concurrent.futures as f
def go(target):
    host, port = target.rsplit(":", 1)
    t = time.time()
    try:
        socket.create_connection((host, int(port)), 5).close(); r = "open"
    except socket.timeout: r = "silent"
    except OSError: r = "refused"
    return f"{r} {time.time() - t:.2f}"
with f.ThreadPoolExecutor(32) as pool: print("\\n".join(pool.map(go, sys.argv[1:])))`;
  const { stdout } = await run(`python3 -c '${script}' ${targets.join(' ')}`, id);
  return stdout.split('\n').map((line) => ({ outcome: line.split(' ')[0], seconds: Number(line.split(' ')[1]) }));
};
/** What curl gets from a URL when it trusts the stand-in's certificate alone. */
const page = async (url: string): Promise<string> => {
  const curl = `printf %s '${identity.cert}' > ca.pem; curl -sS --max-time 20 --cacert ca.pem ${url}`;
  const { exitCode, stdout } = await run(curl);
  return exitCode === 0 ? stdout : `curl ended with ${exitCode}`;
};
const outcomes = async (targets: readonly string[], id?: string) =>
  (await tryTcp(targets, id)).map(({ outcome }) => outcome);

describe('from inside a machine', () => {
  it('the internet is there: TCP on 80 and 443, names, UDP, and an HTTP client', async () => {
    expect(await outcomes(['203.0.113.1:80', '203.0.113.1:443', '198.51.100.1:80', 'one.example:80'])).toEqual(
      Array.from({ length: 4 }, () => 'open'),
    );
    expect((await run('getent ahostsv4 two.example | head -1')).stdout).toContain('198.51.100.1');
    const udp = `import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5)
s.sendto(b"ping", ("203.0.113.1", 7777)); print(s.recv(10).decode())`;
    expect((await run(`python3 -c '${udp}'`)).stdout).toBe('ping');
  });

  it('HTTPS is spoken end to end, by address and by name, with a certificate that is checked', async () => {
    expect(await page('https://203.0.113.1/a')).toBe('GET 203.0.113.1/a at 203.0.113.1');
    expect(await page('https://one.example/b')).toBe('GET one.example/b at 203.0.113.1');
    expect(await page('https://two.example/c')).toBe('GET two.example/c at 198.51.100.1');
    expect((await run('curl -sS https://one.example/')).exitCode, 'a certificate nobody vouches for').toBe(60);
  });

  it('HTTPS under an allow-list reaches what it names and nothing else', async () => {
    await machines.ask('setEgress', { name: 'one', egress: { allow: ['two.example'] } });
    expect(await page('https://two.example/d')).toBe('GET two.example/d at 198.51.100.1');
    expect(await page('https://one.example/')).toBe('curl ended with 6');
    expect(await page('https://203.0.113.1/')).toBe('curl ended with 7');
    await machines.ask('setEgress', { name: 'one', egress: { allow: ['203.0.113.2/32'] } });
    expect(await page('https://203.0.113.2/e')).toBe('GET 203.0.113.2/e at 203.0.113.2');
    expect(await page('https://203.0.113.1/')).toBe('curl ended with 7');
    expect(await page('https://two.example/')).toBe('curl ended with 6');
    await machines.ask('setEgress', { name: 'one', egress: 'all' });
    expect(await page('https://one.example/f')).toBe('GET one.example/f at 203.0.113.1');
  });

  it('mail ports are refused within a second', async () => {
    const tried = await tryTcp([25, 465, 587].map((port) => `203.0.113.1:${port}`));
    console.log(`refused after ${tried.map(({ seconds }) => seconds).join(', ')} s`);
    expect(tried.map(({ outcome }) => outcome)).toEqual(['refused', 'refused', 'refused']);
    expect(Math.max(...tried.map(({ seconds }) => seconds))).toBeLessThan(1);
  });

  it('no refused range and no address of the host is reached, although all of them answer', async () => {
    const targets = [
      ...forbiddenAddresses.map((address) => `${address}:80`),
      ...[...hostAddresses, '10.213.0.1', '127.0.0.1'].map((address) => `${address}:9000`),
    ];
    expect(await outcomes(targets)).not.toContain('open');
  });

  it('another machine is not reached, and nothing reaches in', async () => {
    await run('cd /tmp && (python3 -m http.server 8000 --bind 0.0.0.0 >/dev/null 2>&1 &)', 'other');
    const listening =
      'for i in $(seq 100); do curl -fs http://127.0.0.1:8000/ >/dev/null && exit; sleep 0.1; done; exit 1';
    expect((await run(listening, 'other')).exitCode).toBe(0);
    expect(await outcomes(['10.213.0.2:8000', '10.213.0.6:8000'], 'one')).not.toContain('open');
    for (const address of ['10.213.0.2', '10.213.0.6']) {
      expect(await host.ask('connect', { host: address, port: 8000 })).not.toMatchObject({ outcome: 'open' });
      expect(await internet.ask('connect', { host: address, port: 8000 })).not.toMatchObject({ outcome: 'open' });
    }
  });

  it('a policy allows exactly what it says, and can change while the machine runs', async () => {
    const targets = ['203.0.113.1:80', '203.0.113.2:80', '198.51.100.1:80', 'two.example:80'];
    await machines.ask('setEgress', { name: 'one', egress: 'none' });
    expect(await outcomes(targets)).toEqual(['refused', 'refused', 'refused', 'refused']);
    await machines.ask('setEgress', { name: 'one', egress: { allow: ['203.0.113.2/32'] } });
    expect(await outcomes(targets)).toEqual(['refused', 'open', 'refused', 'refused']);
    await machines.ask('setEgress', { name: 'one', egress: { allow: ['two.example'] } });
    expect(await outcomes(['two.example:80', 'one.example:80', '203.0.113.1:80'])).toEqual([
      'open',
      'refused',
      'refused',
    ]);
    await machines.ask('setEgress', { name: 'one', egress: 'all' });
    expect(await outcomes(targets)).toEqual(['open', 'open', 'open', 'open']);
  });

  it('a policy given at launch holds from the first moment', async () => {
    await machines.ask('launch', { name: 'closed', egress: 'none' });
    expect(await outcomes(['203.0.113.1:80'], 'closed')).toEqual(['refused']);
  });
});

it('a command stays within three times its quiet time beside a network flood of another machine', async () => {
  const medianMs = async (): Promise<number> => {
    const taken: number[] = [];
    for (let round = 0; round < 15; round += 1) {
      const startedMs = performance.now();
      await run('true', 'other');
      taken.push(performance.now() - startedMs);
    }
    return taken.toSorted((a, b) => a - b)[7] ?? Number.NaN;
  };
  await medianMs();
  const quiet = await medianMs();
  const flood = `import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    try: s.sendto(b"x" * 1000, ("203.0.113.1", 9))
    except OSError: pass`;
  await run(`for i in 1 2; do timeout 60 python3 -c '${flood}' >/dev/null 2>&1 & done; sleep 0.1`);
  const beside = await measureBeside(quiet, medianMs);
  await run('pkill -x python3 || true');
  const { quietMs, besideMs, ratio } = await inDoubt(beside, medianMs);
  console.log(`beside a network flood: ${besideMs} ms, quiet ${quietMs} ms, ${ratio} ×`);
  expect(ratio).toBeLessThan(neighbourBound);
});

it('afterwards the host is exactly as it was before', async () => {
  await machines.ask('close');
  await machines.end();
  expect(laboratory.snapshot()).toBe(before);
});
