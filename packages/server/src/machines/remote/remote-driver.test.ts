import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { StubMachine, stubFileBytes } from '../../../test/core/stub-driver.ts';
import { HostLab } from '../../../test/host-process/host-lab.ts';
import { HostFull, HostUnavailable, type LaunchRequest, SnapshotUnusable } from '../../core/ports/machine-driver.ts';
import { withDeadline } from '../../core/scheduling/deadline.ts';
import { wireEgress } from '../egress/wire-egress.ts';
import { maxCallsInFlight, protocolVersion, snapshotsPerPage } from '../protocol/messages.ts';
import { agentSocketsOf } from '../protocol/run-folder.ts';
import { RemoteDriver } from './remote-driver.ts';

/** Keeps launches waiting until `release` is called. */
function holdLaunches(lab: HostLab) {
  const held = Promise.withResolvers<void>();
  const requests: LaunchRequest[] = [];
  lab.driver.beforeLaunched = async (request) => {
    requests.push(request);
    const aborted = new Promise<never>((_, reject) => {
      request.signal?.addEventListener('abort', () => reject(new Error('aborted')));
    });
    await Promise.race([held.promise, aborted]);
  };
  return { requests, release: held.resolve };
}

test('launches, pauses, resumes, measures and destroys machines of the host process', async () => {
  await using lab = await HostLab.open();
  lab.driver.memoryLeft = 1_234;
  const driver = await lab.connect();
  expect([driver.describe().engine, driver.isAvailable(), driver.memoryLeftBytes()]).toEqual(['stub', true, 1_234]);
  expect(await driver.adopt()).toEqual([]);
  const machine = await driver.launch({ id: 'm1', size: 'medium' });
  expect([machine.id, machine.size, lab.driver.newest.size]).toEqual(['m1', 'medium', 'medium']);
  await machine.pause();
  expect(lab.driver.newest.paused).toBe(true);
  await machine.resume();
  expect(lab.driver.newest.paused).toBe(false);
  lab.driver.newest.used = { memoryBytes: 5, diskBytes: 7 };
  expect(await machine.usage()).toEqual({ memoryBytes: 5, diskBytes: 7 });
  await machine.setEgress({ allow: ['10.0.0.0/8', 'Bücher.example'] });
  await Promise.all([machine.destroy(), machine.destroy()]);
  await machine.destroy();
  expect(lab.driver.newest.destroyed).toBe(true);
  expect(await machine.exited).toEqual({ requested: true, reason: 'destroyed' });
  await expect(machine.openAgentChannel()).rejects.toThrow('machine m1 is gone');
  lab.driver.memoryLeft = 99;
  await expect.poll(() => driver.memoryLeftBytes()).toBe(99);
});

test('reports a machine that exited on its own, with its reason', async () => {
  await using lab = await HostLab.open();
  const driver = await lab.connect();
  const machine = await driver.launch({ id: 'm1', size: 'small' });
  lab.driver.newest.die('killed by SIGKILL');
  expect(await machine.exited).toEqual({ requested: false, reason: 'killed by SIGKILL' });
});

test('a machine that dies in the moment of its launch is reported too', async () => {
  await using lab = await HostLab.open();
  const driver = await lab.connect();
  lab.driver.launch = async (request) => {
    const machine = new StubMachine(request);
    machine.die('died at once');
    return machine;
  };
  const machine = await driver.launch({ id: 'm1', size: 'small' });
  expect(await machine.exited).toEqual({ requested: false, reason: 'died at once' });
});

test('aborting a launch cancels it in the host process and fails with the reason', async () => {
  await using lab = await HostLab.open();
  const driver = await lab.connect();
  const { requests } = holdLaunches(lab);
  const abort = new AbortController();
  const launched = driver.launch({ id: 'm1', size: 'small', signal: abort.signal });
  await expect.poll(() => requests.length).toBe(1);
  abort.abort(new Error('deleted'));
  await expect(launched).rejects.toThrow('deleted');
  expect(requests[0]?.signal?.aborted).toBe(true);
  await expect(driver.launch({ id: 'm2', size: 'small', signal: AbortSignal.abort(new Error('no')) })).rejects.toThrow(
    'no',
  );
  expect(requests).toHaveLength(1);
});

test('an allow-list arrives in the form that the protocol allows, and a bad entry is named', async () => {
  expect(wireEgress('none')).toBe('none');
  expect(wireEgress({ allow: ['Bücher.example', '*.Example.com.', '10.1.2.3/8', '10.9.9.9', '192.0.2.1'] })).toEqual({
    allow: ['10.0.0.0/8', '192.0.2.1', '*.example.com', 'xn--bcher-kva.example'],
  });
  await using lab = await HostLab.open();
  const driver = await lab.connect();
  await expect(driver.launch({ id: 'm1', size: 'small', egress: { allow: ['a b'] } })).rejects.toThrow('"a b" is not');
  const longest = Array.from(
    { length: 1_000 },
    (_, at) => `*.${String(at).padStart(4, '0')}${'.abcdefghi'.repeat(23)}.example`,
  );
  await driver.launch({ id: 'm2', size: 'small', egress: { allow: longest } });
  expect(lab.driver.machines.map(({ id }) => id)).toEqual(['m2']);
});

test('more calls at once than the host process works on wait for their turn', async () => {
  await using lab = await HostLab.open();
  const driver = await lab.connect();
  const { requests, release } = holdLaunches(lab);
  const launches = Array.from({ length: 100 }, (_, at) => driver.launch({ id: `m${at}`, size: 'small' }));
  await expect.poll(() => requests.length).toBe(31);
  const abort = new AbortController();
  const waiting = driver.launch({ id: 'late', size: 'small', signal: abort.signal }).catch(String);
  abort.abort(new Error('deleted'));
  release();
  expect(await Promise.all(launches)).toHaveLength(100);
  expect(await waiting).toBe('Error: deleted');
  expect(requests.map(({ id }) => id)).not.toContain('late');
});

test('while the host process is away, calls fail at once, and afterwards everything goes on', async () => {
  await using lab = await HostLab.open();
  lab.driver.memoryLeft = 1;
  const driver = await lab.connect();
  await driver.adopt();
  const machine = await driver.launch({ id: 'm1', size: 'small' });
  await lab.stopHost();
  await expect.poll(() => driver.isAvailable()).toBe(false);
  expect(driver.memoryLeftBytes()).toBe(Number.POSITIVE_INFINITY);
  await expect(driver.launch({ id: 'm2', size: 'small' })).rejects.toThrow(HostUnavailable);
  await expect(machine.destroy()).rejects.toThrow(HostUnavailable);
  const other = await lab.driver.launch({ id: 'm3', size: 'small' });

  await lab.startHost();
  await expect.poll(() => driver.isAvailable()).toBe(true);
  // Nobody here launched it: the answer to its launch was lost with the connection.
  await expect.poll(() => other.destroyed).toBe(true);
  await driver.launch({ id: 'm2', size: 'small' });
  await machine.destroy();
  expect(await machine.exited).toMatchObject({ requested: true });
  expect(lab.serviceLog.events).toEqual(
    expect.arrayContaining(['host_connection_lost', 'host_unavailable', 'host_connected']),
  );
});

test('agents are reached while the host process is away', async () => {
  await using lab = await HostLab.open();
  const driver = await lab.connect();
  const machine = await driver.launch({ id: 'm1', size: 'small' });
  const { control, data } = agentSocketsOf(lab.runDir, 'm1');
  await mkdir(dirname(control), { recursive: true });
  const servers = [control, data].map((path) => createServer((socket) => socket.end(path)).listen(path));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  await lab.stopHost();
  const channel = await machine.openAgentChannel();
  const [greeting] = (await once(channel.data, 'data')) as [Buffer];
  expect(String(greeting)).toBe(data);
  channel.close();
  for (const server of servers) server.close();
});

test('machines that ended while the host process was away are reported when it is back', async () => {
  await using lab = await HostLab.open();
  const driver = await lab.connect();
  await driver.adopt();
  const machines = await Promise.all(['m1', 'm2'].map((id) => driver.launch({ id, size: 'small' })));
  await lab.stopHost();
  lab.driver.machines[0]?.die('its process was gone when the host process returned');
  await lab.startHost();
  expect(await machines[0]?.exited).toEqual({
    requested: false,
    reason: 'the machine ended while its host process was restarting',
  });
  await expect.poll(() => driver.isAvailable()).toBe(true);
  await machines[1]?.pause();
  expect(lab.driver.machines[1]?.paused).toBe(true);
});

test('a launch in progress fails when the host process goes away, and leaves nothing', async () => {
  await using lab = await HostLab.open();
  const driver = await lab.connect();
  const { requests } = holdLaunches(lab);
  const launched = driver.launch({ id: 'm1', size: 'small' }).catch((error: unknown) => error);
  await expect.poll(() => requests.length).toBe(1);
  await lab.stopHost();
  expect(await launched).toBeInstanceOf(HostUnavailable);
  expect(lab.driver.machines).toEqual([]);
});

test('the next service adopts what runs, and what has exited is removed', async () => {
  await using lab = await HostLab.open();
  const before = await lab.connect();
  for (let at = 0; at < 70; at += 1) await before.launch({ id: `m${at}`, size: 'small' });
  await before[Symbol.asyncDispose]();
  lab.driver.machines[3]?.die('powered itself off');
  await lab.driver.machines[3]?.exited;
  const after = await lab.connect();
  const adopted = await after.adopt();
  expect(adopted).toHaveLength(69);
  expect(adopted.map(({ id }) => id)).not.toContain('m3');
  await expect.poll(() => lab.driver.machines[3]?.destroyed).toBe(true);
  await adopted[0]?.pause();
  lab.driver.machines[5]?.die('killed');
  const fifth = adopted.find(({ id }) => id === 'm5');
  expect(await fifth?.exited).toEqual({ requested: false, reason: 'killed' });
  // The id is free again.
  await after.launch({ id: 'm3', size: 'small' });
});

test('without a host process, opening fails after its deadline and says what was waited for', async () => {
  await using lab = await HostLab.open();
  await lab.stopHost();
  const opened = RemoteDriver.open({ runDir: lab.runDir, log: lab.serviceLog, openMs: 50 });
  await expect(opened).rejects.toThrow('connecting to the host process took longer than 50 ms');
});

/** Something else than a host process on the lab's socket. */
async function replaceHost(lab: HostLab, serve: (socket: Socket) => void): Promise<Disposable> {
  await lab.stopHost();
  const sockets = new Set<Socket>();
  const host = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    serve(socket);
  }).listen(lab.socketPath);
  await once(host, 'listening');
  return {
    [Symbol.dispose]: () => {
      host.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

const otherVersion = (socket: Socket): void => {
  socket.end('{"hello":"mayfly-host","version":99,"refused":"too old"}\n');
};

const description = { engine: 'x', acceleration: 'none' };
const greet = (socket: Socket): void => {
  socket.write(
    `${JSON.stringify({ hello: 'mayfly-host', version: protocolVersion, driver: description, memory_left_bytes: 5 })}\n`,
  );
};

test('a host process of another version is refused at once, with both numbers', async () => {
  await using lab = await HostLab.open();
  using _host = await replaceHost(lab, otherVersion);
  await expect(lab.connect()).rejects.toThrow(
    `version 99 of the host protocol, this service version ${protocolVersion}`,
  );
});

test('a host process of another version that replaces the one before is reported: only a restart helps', async () => {
  await using lab = await HostLab.open();
  const reported = Promise.withResolvers<Error>();
  await using _driver = await RemoteDriver.open({
    runDir: lab.runDir,
    log: lab.serviceLog,
    onOtherVersion: reported.resolve,
  });
  using _host = await replaceHost(lab, otherVersion);
  expect((await reported.promise).message).toContain('Restart both');
});

test('a host process that hangs is given up although the service keeps calling, and calls that wait for it fail', async () => {
  await using lab = await HostLab.open();
  let calls = 0;
  const callsBeforeConnection: number[] = [];
  using _host = await replaceHost(lab, (socket) => {
    callsBeforeConnection.push(calls);
    greet(socket);
  });
  await using driver = await RemoteDriver.open({ runDir: lab.runDir, log: lab.serviceLog, silenceMs: 500 });
  const failures: unknown[] = [];
  const calling = setInterval(() => {
    calls += 1;
    driver.launch({ id: `m${calls}`, size: 'small' }).catch((error: unknown) => failures.push(error));
  }, 200);
  await expect.poll(() => callsBeforeConnection.length).toBe(2);
  clearInterval(calling);
  // After these the service would have to stop calling anyway, because it waits for answers.
  expect(callsBeforeConnection[1]).toBeLessThan(maxCallsInFlight - 1);
  expect(failures[0]).toBeInstanceOf(HostUnavailable);
});

test.each([
  ['does not greet', () => {}],
  ['greets and does not answer', greet],
])('disposing does not wait for a host process that %s', async (_name, serve) => {
  await using lab = await HostLab.open();
  const driver = await lab.connect();
  await driver.adopt();
  const connected = Promise.withResolvers<void>();
  using _host = await replaceHost(lab, (socket) => {
    serve(socket);
    socket.on('data', () => connected.resolve());
  });
  await connected.promise;
  await withDeadline('disposing', 5_000, driver[Symbol.asyncDispose]());
  expect(driver.isAvailable()).toBe(false);
});

test('saves a machine, launches copies of it, and lists and deletes snapshots', async () => {
  await using lab = await HostLab.open();
  const driver = await lab.connect();
  const machine = await driver.launch({ id: 'm1', size: 'medium' });
  const { snapshot, pausedMs } = await machine.save('snap_1');
  expect(snapshot).toEqual({ id: 'snap_1', size: 'medium', files: [{ id: 'file-of-snap_1', bytes: stubFileBytes }] });
  expect(pausedMs).toBe(1);
  await driver.launch({ id: 'm2', size: 'medium', snapshotId: 'snap_1' });
  expect(lab.driver.newest.snapshotId).toBe('snap_1');
  expect(await driver.snapshots()).toEqual([snapshot]);
  await driver.deleteSnapshot('snap_1');
  await driver.deleteSnapshot('snap_1');
  expect(await driver.snapshots()).toEqual([]);
  const launched = driver.launch({ id: 'm3', size: 'medium', snapshotId: 'snap_1' });
  await expect(launched).rejects.toBeInstanceOf(SnapshotUnusable);
  await expect(launched).rejects.toThrow('There is no snapshot snap_1 on this host.');
});

test('lists more snapshots than fit into one message', async () => {
  await using lab = await HostLab.open();
  const driver = await lab.connect();
  const machine = await driver.launch({ id: 'm1', size: 'small' });
  const ids = Array.from({ length: 2 * snapshotsPerPage + 1 }, (_, at) => `snap_${String(at).padStart(3, '0')}`);
  for (const id of ids) await machine.save(id);
  expect((await driver.snapshots()).map(({ id }) => id)).toEqual(ids);
});

test('a host without room for a snapshot is full', async () => {
  await using lab = await HostLab.open({ diskReserveBytes: 1_000 });
  const driver = await lab.connect();
  const machine = await driver.launch({ id: 'm1', size: 'small' });
  lab.diskFreeBytes = 999;
  await expect(machine.save('snap_1')).rejects.toBeInstanceOf(HostFull);
  lab.diskFreeBytes = 1_000;
  lab.driver.newest.beforeSaved = () => Promise.reject(new HostFull('The snapshot needs more room than there is.'));
  await expect(machine.save('snap_1')).rejects.toBeInstanceOf(HostFull);
  expect(await driver.snapshots()).toEqual([]);
});

test('saves that take long delay no other call, and go on when the service is gone', async () => {
  await using lab = await HostLab.open();
  const driver = await lab.connect();
  const machine = await driver.launch({ id: 'm1', size: 'small' });
  const held = Promise.withResolvers<void>();
  lab.driver.newest.beforeSaved = () => held.promise;
  const saves = Array.from({ length: maxCallsInFlight }, (_, at) => machine.save(`snap_${at}`));
  const ended = Promise.allSettled(saves);
  await driver.launch({ id: 'm2', size: 'small' });
  await driver[Symbol.asyncDispose]();
  for (const { status } of await ended) expect(status).toBe('rejected');
  held.resolve();
  const next = await lab.connect();
  await expect.poll(async () => (await next.snapshots()).map(({ id }) => id)).toEqual(['snap_0', 'snap_1']);
});
