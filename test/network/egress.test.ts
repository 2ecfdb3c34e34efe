import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readProcessIdentity } from '#server/machines/qemu/jail/proc.ts';
import { resolverUsers } from '#server/machines/qemu/network/resolver/resolver-users.ts';
import { defaultNetworkLimits } from '#server/machines/qemu/network/rules/machine-ruleset.ts';
import { canOpenNetworkLab, forbiddenAddresses, hostAddresses, NetworkLab } from '#server-test/network/network-lab.ts';
import type { RpcChild } from '#server-test/network/rpc.ts';
import { selfSigned } from '#server-test/network/self-signed.ts';
import { preparedHost } from '../support/prepared-host.ts';
import { maxSlowdownRatio, measureSlowdown, recheckSlowdown } from '../support/slowdown.ts';

let lab: NetworkLab;
let internet: RpcChild;
let host: RpcChild;
let machines: RpcChild;
let folder: string;
let before: string;
let website: ChildProcess;
const hostConnections = 100;
const identity = selfSigned(['one.example', 'two.example'], ['203.0.113.1', '203.0.113.2']);

beforeAll(async () => {
  expect(canOpenNetworkLab, 'the suite needs root and Go; npm test has both').toBe(true);
  folder = await mkdtemp(join(tmpdir(), 'mayfly-net-'));
  ({ lab, internet } = await NetworkLab.open());
  for (const port of [25, 465, 587]) await internet.ask('listenTcp', { port });
  const server = fileURLToPath(new URL('./https-server.ts', import.meta.url));
  const nsenterArgs = ['-t', String(internet.pid), '-n', '--'];
  website = spawn('nsenter', [...nsenterArgs, process.execPath, server, JSON.stringify(identity)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (website.stdout) await once(website.stdout, 'data', { signal: AbortSignal.timeout(20_000) });
  await internet.ask('listenUdp', { port: 7777, address: '203.0.113.1' });
  const names = {
    'one.example': ['203.0.113.1'],
    'two.example': ['198.51.100.1'],
    'inside.example': ['169.254.169.254'],
  };
  await internet.ask('serveDns', { address: '203.0.113.53', ttlSeconds: 60, names });
  host = lab.hostProgram();
  await host.ask('listenTcp', { port: 9000 });
  before = lab.snapshot();
  machines = lab.worker(join(import.meta.dirname, '../support/machines-worker.ts'));
  const { resolvConfPath } = lab;
  const networkLimits = { ...defaultNetworkLimits, hostConnections };
  const refusedRanges = ['198.51.100.2'];
  await machines.ask('open', { host: preparedHost(), dataDir: folder, resolvConfPath, networkLimits, refusedRanges });
  await Promise.all(['one', 'other'].map((name) => machines.ask('launch', { name })));
});
afterAll(async () => {
  website?.kill('SIGKILL');
  await lab[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

function run(command: string, id = 'one') {
  return machines.ask<{ exitCode: number; stdout: string }>('run', { name: id, command });
}

/** Tries many TCP connections at once from inside a machine: the outcome of each (open, refused or silent) and how long it took. */
async function tryTcp(targets: readonly string[], id = 'one') {
  // With plain threads: to load a pool of them takes an emulated guest longer than to use them.
  const script = `import socket, sys, threading, time
found = {}
def go(at, target):
    host, port = target.rsplit(":", 1)
    t = time.time()
    try:
        socket.create_connection((host, int(port)), 5).close(); r = "open"
    except socket.timeout: r = "silent"
    except OSError: r = "refused"
    found[at] = f"{r} {time.time() - t:.2f}"
threads = [threading.Thread(target=go, args=each) for each in enumerate(sys.argv[1:])]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("\\n".join(found[at] for at in range(len(threads))))`;
  const { stdout } = await run(`python3 -c '${script}' ${targets.join(' ')}`, id);
  return stdout.split('\n').map((line) => ({ outcome: line.split(' ')[0], seconds: Number(line.split(' ')[1]) }));
}
/** What curl gets from a URL if it trusts only the certificate of the test server. */
async function page(url: string): Promise<string> {
  const curl = `printf %s '${identity.cert}' > ca.pem; curl -sS --max-time 20 --cacert ca.pem ${url}`;
  const { exitCode, stdout } = await run(curl);
  return exitCode === 0 ? stdout : `curl exited with ${exitCode}`;
}
async function outcomes(targets: readonly string[], id?: string) {
  return (await tryTcp(targets, id)).map(({ outcome }) => outcome);
}

describe('from inside a machine', () => {
  it('the internet is reachable: TCP on 80 and 443, DNS and UDP', async () => {
    expect(await outcomes(['203.0.113.1:80', '203.0.113.1:443', '198.51.100.1:80', 'one.example:80'])).toEqual(
      Array.from({ length: 4 }, () => 'open'),
    );
    const udp = `import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5)
s.sendto(b"ping", ("203.0.113.1", 7777)); print(s.recv(10).decode())`;
    const commands = ['getent ahostsv4 two.example | head -1', `python3 -c '${udp}'`];
    const [lookedUp, answered] = await Promise.all(commands.map((command) => run(command)));
    expect(lookedUp?.stdout).toContain('198.51.100.1');
    expect(answered?.stdout).toBe('ping');
  });

  it('HTTPS works end to end, by address and by name, with certificate verification', async () => {
    expect(await page('https://203.0.113.1/a')).toBe('GET 203.0.113.1/a at 203.0.113.1');
    expect(await page('https://one.example/b')).toBe('GET one.example/b at 203.0.113.1');
    expect(await page('https://two.example/c')).toBe('GET two.example/c at 198.51.100.1');
    expect((await run('curl -sS https://one.example/')).exitCode, 'an untrusted certificate').toBe(60);
  });

  it('HTTPS with an allowlist reaches the listed targets and nothing else', async () => {
    await machines.ask('setEgress', { name: 'one', egress: { allow: ['two.example'] } });
    expect(await page('https://two.example/d')).toBe('GET two.example/d at 198.51.100.1');
    expect(await page('https://one.example/')).toBe('curl exited with 6');
    expect(await page('https://203.0.113.1/')).toBe('curl exited with 7');
    await machines.ask('setEgress', { name: 'one', egress: { allow: ['203.0.113.2/32'] } });
    expect(await page('https://203.0.113.2/e')).toBe('GET 203.0.113.2/e at 203.0.113.2');
    expect(await page('https://203.0.113.1/')).toBe('curl exited with 7');
    expect(await page('https://two.example/')).toBe('curl exited with 6');
    await machines.ask('setEgress', { name: 'one', egress: 'all' });
    expect(await page('https://one.example/f')).toBe('GET one.example/f at 203.0.113.1');
  });

  it('mail ports are refused instead of timing out', async () => {
    const tried = await tryTcp([25, 465, 587].map((port) => `203.0.113.1:${port}`));
    console.log(`refused after ${tried.map(({ seconds }) => seconds).join(', ')} s`);
    expect(tried.map(({ outcome }) => outcome)).toEqual(['refused', 'refused', 'refused']);
    expect(Math.max(...tried.map(({ seconds }) => seconds))).toBeLessThan(10);
  });

  it('no blocked range and no address of the host is reachable, although all of them listen', async () => {
    const targets = [
      ...forbiddenAddresses.map((address) => `${address}:80`),
      ...[...hostAddresses, '10.213.0.1', '127.0.0.1'].map((address) => `${address}:9000`),
    ];
    expect(await outcomes(targets)).not.toContain('open');
  });

  it('another machine is not reachable, and nothing can connect to a machine', async () => {
    const listen = 'import socket, time; s = socket.create_server(("0.0.0.0", 8000)); time.sleep(600)';
    await run(`(python3 -c '${listen}' >/dev/null 2>&1 &)`, 'other');
    const listening =
      'for i in $(seq 1000); do { : 3<>/dev/tcp/127.0.0.1/8000; } 2>/dev/null && exit; sleep 0.2; done; exit 1';
    expect((await run(listening, 'other')).exitCode).toBe(0);
    const addresses = ['10.213.0.2', '10.213.0.6'];
    const [fromMachine, ...fromOutside] = await Promise.all([
      outcomes(
        addresses.map((address) => `${address}:8000`),
        'one',
      ),
      ...[host, internet].flatMap((peer) =>
        addresses.map((address) => peer.ask('connect', { host: address, port: 8000 })),
      ),
    ]);
    expect(fromMachine).not.toContain('open');
    expect(fromOutside).toHaveLength(4);
    for (const attempt of fromOutside) expect(attempt).not.toMatchObject({ outcome: 'open' });
  });

  it('a policy allows exactly what it lists, and can be changed while the machine runs', async () => {
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

  it('connections that only the host remembers are limited per machine, and the others keep working', async () => {
    const { pid } = await machines.ask<{ pid: number }>('launch', { name: 'hostile' });
    const attack = `import socket, struct
opened = 0
for _ in range(300):
    s = socket.socket(); s.settimeout(20)
    try: s.connect(("203.0.113.1", 80))
    except OSError: continue
    opened += 1
    s.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()
print(opened)`;
    const { stdout } = await run(`python3 -c '${attack}'`, 'hostile');
    const inNamespace = lab.sh('cat /proc/net/nf_conntrack | grep -c ESTABLISHED || true', pid).trim();
    const onHost = Number(lab.sh('conntrack -L -p tcp --state ESTABLISHED | grep -c src=198.19. || true'));
    console.log(
      `of 300 connections ${stdout} were opened and reset; established in the namespace: ${inNamespace}, on the host: ${onHost}`,
    );
    expect(Number(stdout)).toBeGreaterThan(0);
    expect(onHost).toBeGreaterThan(hostConnections / 2);
    expect(onHost).toBeLessThanOrEqual(hostConnections + 10);
    // A few of the connections may have ended and made room.
    expect(await outcomes(Array<string>(10).fill('203.0.113.1:80'), 'hostile')).toContain('refused');
    expect(await outcomes(['203.0.113.1:80'], 'other')).toEqual(['open']);
    expect((await run('true', 'other')).exitCode).toBe(0);
  });

  it('a machine that floods the resolver with garbage, and the death of the resolver, leave the others their lookups; nothing of it is root', async () => {
    const helperPath = preparedHost().tools.netPath;
    const { broker, resolver } = lab.resolverPids(machines, helperPath);
    const status = await readFile(`/proc/${resolver}/status`, 'utf8');
    const shown = ['Uid', 'CapEff', 'CapBnd', 'NoNewPrivs', 'Seccomp'];
    const fields = shown.map((name) => new RegExp(`^${name}:\\s+(\\S+)`, 'm').exec(status)?.[1]);
    console.log(`resolver: ${shown.map((name, index) => `${name} ${fields[index]}`).join(', ')}`);
    expect(Number(fields[0])).toBeGreaterThanOrEqual(resolverUsers.firstUid);
    expect(fields.slice(1)).toEqual(['0'.repeat(16), '0'.repeat(16), '1', '2']);

    const attack = `import os, socket, time
u = socket.socket(type=socket.SOCK_DGRAM); sent = 0; end = time.time() + 5
while time.time() < end:
    try: u.sendto(os.urandom(12 + sent % 500), ("10.213.0.1", 53)); sent += 1
    except OSError: pass
    if sent % 200 == 0:
        try:
            t = socket.create_connection(("10.213.0.1", 53), 2); t.send(b"\\xff\\xff" + os.urandom(64)); t.close()
        except OSError: pass
print(sent)`;
    let isFlooding = true;
    const flood = run(`python3 -c '${attack}'`, 'one').finally(() => {
      isFlooding = false;
    });
    const lookUp = () => run('getent ahostsv4 two.example | head -1', 'other');
    let answered = 0;
    while (isFlooding) {
      expect((await lookUp()).stdout).toContain('198.51.100.1');
      answered += 1;
    }
    const { stdout: sent } = await flood;
    console.log(`${sent} garbage packets of one machine; ${answered} lookups of another were answered meanwhile`);
    expect(lab.resolverPids(machines, helperPath)).toEqual({ broker, resolver });

    lab.sh(`kill -9 ${resolver}`);
    await expect.poll(async () => (await lookUp()).stdout).toContain('198.51.100.1');
    expect((await run('true', 'other')).exitCode).toBe(0);
    expect([broker, resolver].map(readProcessIdentity)).toEqual([undefined, undefined]);
  });

  it("neither a name of a refused range nor the operator's ranges nor QEMU's own sockets lead out", async () => {
    const { pid } = await machines.ask<{ pid: number }>('launch', { name: 'broken-out' });
    expect((await run('getent ahostsv4 inside.example', 'broken-out')).exitCode).toBe(2);
    expect(await outcomes(['198.51.100.2:80', '198.51.100.1:80'], 'broken-out')).toEqual(['refused', 'open']);
    for (const port of [7778, 7779]) await internet.ask('countUdp', { port, address: '203.0.113.1' });
    const send = 'const s = require("dgram").createSocket("udp4"); s.send("x", 7778, "203.0.113.1", () => s.close())';
    const asQemu = `setpriv --reuid $(awk '/^Uid:/ { print $2 }' /proc/${pid}/status) --clear-groups`;
    lab.sh(`${asQemu} ${process.execPath} -e '${send}'`, pid);
    const fromGuest = 'import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("203.0.113.1", 7779))';
    await run(`python3 -c '${fromGuest}'`, 'broken-out');
    await expect.poll(() => internet.ask('countedOn', { port: 7779 })).toBe(1);
    expect(await internet.ask('countedOn', { port: 7778 })).toBe(0);
    expect((await run('true', 'other')).exitCode).toBe(0);
  });

  it('a policy set at launch applies from the first moment', async () => {
    await machines.ask('launch', { name: 'closed', egress: 'none' });
    expect(await outcomes(['203.0.113.1:80'], 'closed')).toEqual(['refused']);
  });
});

it('a command takes at most three times as long while another machine floods the network', async () => {
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
  const baseline = await medianMs();
  const flood = `import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    try: s.sendto(b"x" * 1000, ("203.0.113.1", 9))
    except OSError: pass`;
  await run(`for i in 1 2; do timeout 60 python3 -c '${flood}' >/dev/null 2>&1 & done; sleep 0.1`);
  const slowdown = await measureSlowdown(baseline, medianMs);
  await run('pkill -x python3 || true');
  const { baselineMs, loadedMs, ratio } = await recheckSlowdown(slowdown, medianMs);
  console.log(`during a network flood: ${loadedMs} ms, baseline ${baselineMs} ms, ${ratio} ×`);
  expect(ratio).toBeLessThan(maxSlowdownRatio);
});

it('the host is restored to its initial state', async () => {
  await machines.ask('close');
  await machines.end();
  expect(lab.snapshot()).toBe(before);
});
