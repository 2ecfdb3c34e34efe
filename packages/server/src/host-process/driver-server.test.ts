import { stat } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { HostLab, type RawService } from '../../test/host-process/host-lab.ts';
import { machinesPerPage, protocolVersion } from '../machines/protocol/messages.ts';
import { HostVersionMismatch } from '../machines/remote/host-connection.ts';

let lastId = 1_000;
/** Lists the machines. */
const list = (service: RawService) => {
  lastId += 1;
  return service.call({ id: lastId, call: 'list' });
};
const launch = (id: number, machine: string) => ({ id, call: 'launch', machine, size: 'small', egress: 'all' });

test('only root and the group of the service may connect', async () => {
  await using lab = await HostLab.open();
  const { mode, gid } = await stat(lab.socketPath);
  expect([mode & 0o777, gid]).toEqual([0o660, lab.serviceGid]);
});

test('a service of another version is refused with both numbers', async () => {
  await using lab = await HostLab.open();
  const service = await lab.connectRaw();
  service.send({ hello: 'mayfly-host', version: 99, field_of_the_future: true });
  const { version, refused } = await service.next(() => true);
  expect(version).toBe(protocolVersion);
  expect(refused).toContain(`version 99 of the host protocol, this host process version ${protocolVersion}`);
  await service.closed();
  expect(new HostVersionMismatch(7).message).toContain(
    `version 7 of the host protocol, this service version ${protocolVersion}`,
  );
});

test.each([
  ['an empty line', '\n'],
  ['no JSON', 'launch small\n'],
  ['no object', '[]\n'],
  ['half a number', '{"id":1e999,"call":"list"}\n'],
  ['an unknown call', '{"id":1,"call":"exec"}\n'],
  ['a missing field', '{"id":1,"call":"pause"}\n'],
  ['a field too many', '{"id":1,"call":"pause","machine":"a","path":"/etc"}\n'],
  ['a path as the machine', '{"id":1,"call":"pause","machine":"../a"}\n'],
  ['an id with a line end', '{"id":1,"call":"pause","machine":"a\\n"}\n'],
  ['an unknown size', '{"id":1,"call":"launch","machine":"a","size":"huge","egress":"all"}\n'],
  ['an option as an egress entry', '{"id":1,"call":"set_egress","machine":"a","egress":{"allow":["-j"]}}\n'],
  ['a second greeting', '{"hello":"mayfly-host","version":1}\n'],
  ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x00, 0x0a])],
  ['a line without an end', Buffer.alloc(1024 * 1024, 'x')],
])('%s ends the connection, and the next one is served', async (_name, bytes) => {
  await using lab = await HostLab.open();
  const service = await lab.connectRaw();
  await service.greet();
  service.send(bytes);
  await service.closed();
  const next = await lab.connectRaw();
  await next.greet();
  expect(await next.call(launch(1, 'm1'))).toEqual({ id: 1, ok: {} });
  expect(lab.hostLog.events.filter((event) => event === 'host_protocol_violated')).toHaveLength(1);
});

test('a call that is repeated with its id ends the connection', async () => {
  await using lab = await HostLab.open();
  const service = await lab.connectRaw();
  await service.greet();
  await service.call(launch(5, 'm1'));
  service.send(launch(5, 'm2'));
  await service.closed();
  expect(lab.driver.machines.map(({ id }) => id)).toEqual(['m1']);
});

test('a connection that does not introduce itself is closed', async () => {
  await using lab = await HostLab.open({ handshakeMs: 50 });
  const silent = await lab.connectRaw();
  await silent.closed();
  expect([silent.received, lab.hostLog.events]).toEqual([[], ['host_listening']]);
});

test('a new connection replaces the one before, and finds its machines', async () => {
  await using lab = await HostLab.open();
  const before = await lab.connectRaw();
  await before.greet();
  await before.call(launch(1, 'm1'));
  const after = await lab.connectRaw();
  await after.greet();
  await before.closed();
  expect(await after.call({ id: 1, call: 'list' })).toEqual({
    id: 1,
    ok: { machines: [{ machine: 'm1', size: 'small' }], more: false },
  });
});

test('machines are listed in pages, and there are no more than the limit', async () => {
  await using lab = await HostLab.open({ maxMachines: machinesPerPage + 2 });
  const service = await lab.connectRaw();
  await service.greet();
  const ids = Array.from({ length: machinesPerPage + 2 }, (_, at) => `m${String(at).padStart(3, '0')}`);
  for (const [at, machine] of ids.entries()) await service.call(launch(at + 1, machine));
  expect(await service.call(launch(200, 'one-more'))).toMatchObject({ error: { code: 'too_many_machines' } });
  const listed: unknown[] = [];
  for (let id = 300, after: string | undefined, more = true; more; id += 1) {
    const { ok } = await service.call({ id, call: 'list', after });
    const page = ok as { machines: { machine: string }[]; more: boolean };
    listed.push(...page.machines.map(({ machine }) => machine));
    after = page.machines.at(-1)?.machine;
    more = page.more;
  }
  expect(listed).toEqual(ids);
});

test('calls on machines that do not exist fail, and destroying them succeeds', async () => {
  await using lab = await HostLab.open();
  const service = await lab.connectRaw();
  await service.greet();
  const codes = [];
  for (const [at, call] of ['pause', 'resume', 'usage'].entries()) {
    codes.push(await service.call({ id: at + 1, call, machine: 'foreign' }));
  }
  expect(codes.map(({ error }) => error)).toEqual(
    Array(3).fill({ code: 'unknown_machine', message: 'There is no machine foreign.' }),
  );
  expect(await service.call({ id: 10, call: 'destroy', machine: 'foreign' })).toEqual({ id: 10, ok: {} });
  await service.call(launch(11, 'm1'));
  expect(await service.call(launch(12, 'm1'))).toMatchObject({ error: { code: 'machine_exists' } });
});

test('a machine that dies is cleaned up although no service is connected, and the next one learns why', async () => {
  await using lab = await HostLab.open();
  const service = await lab.connectRaw();
  await service.greet();
  await service.call(launch(1, 'm1'));
  service.close();
  lab.driver.newest.die('killed by SIGKILL');
  await expect.poll(() => lab.driver.newest.destroyed).toBe(true);
  const next = await lab.connectRaw();
  await next.greet();
  const exit = { requested: false, reason: 'killed by SIGKILL' };
  expect(await next.call({ id: 1, call: 'list' })).toEqual({
    id: 1,
    ok: { machines: [{ machine: 'm1', size: 'small', exit }], more: false },
  });
  await next.call({ id: 2, call: 'destroy', machine: 'm1' });
  expect(await next.call({ id: 3, call: 'list' })).toEqual({ id: 3, ok: { machines: [], more: false } });
});

test('a machine that could not be destroyed is destroyed later, although nobody asks again', async () => {
  await using lab = await HostLab.open({ cleanupPeriodMs: 20 });
  const service = await lab.connectRaw();
  await service.greet();
  await service.call(launch(1, 'm1'));
  let isBusy = true;
  lab.driver.newest.beforeDestroyed = async () => {
    if (isBusy) throw new Error('device busy');
  };
  expect(await service.call({ id: 2, call: 'destroy', machine: 'm1' })).toMatchObject({ error: { code: 'failed' } });
  isBusy = false;
  await expect.poll(() => lab.driver.newest.destroyed).toBe(true);
  await expect.poll(async () => (await list(service)).ok).toEqual({ machines: [], more: false });
});

test('a machine that ended on request is never listed as running, although its cleanup has failed', async () => {
  await using lab = await HostLab.open();
  const service = await lab.connectRaw();
  await service.greet();
  await service.call(launch(1, 'm1'));
  const { newest } = lab.driver;
  const destroy = newest.destroy.bind(newest);
  newest.destroy = async () => {
    await destroy();
    throw new Error('device busy');
  };
  await service.call({ id: 2, call: 'destroy', machine: 'm1' });
  const next = await lab.connectRaw();
  await next.greet();
  expect((await list(next)).ok).toEqual({
    machines: [{ machine: 'm1', size: 'small', exit: { requested: true, reason: 'destroyed' } }],
    more: false,
  });
});

test('a cleanup that hangs delays neither other cleanups nor the stop beyond its deadline', async () => {
  await using lab = await HostLab.open({ cleanupPeriodMs: 20, callMs: 200 });
  const service = await lab.connectRaw();
  await service.greet();
  await service.call(launch(1, 'hanging'));
  await service.call(launch(2, 'failing'));
  const [hanging, failing] = lab.driver.machines;
  if (!hanging || !failing) throw new Error('both were launched');
  hanging.beforeDestroyed = () => new Promise(() => {});
  hanging.die('killed');
  let attempts = 0;
  failing.beforeDestroyed = async () => {
    attempts += 1;
    if (attempts < 5) throw new Error('device busy');
  };
  failing.die('killed');
  await expect.poll(() => failing.destroyed).toBe(true);
  await lab.stopHost();
  expect(lab.hostLog.events).toContain('machine_cleanup_failed');
});

test('a host process that has stopped leaves a machine that exits later to the next one', async () => {
  await using lab = await HostLab.open();
  const service = await lab.connectRaw();
  await service.greet();
  await service.call(launch(1, 'm1'));
  const { newest } = lab.driver;
  await lab.stopHost();
  newest.die('killed');
  await newest.exited;
  await new Promise(setImmediate);
  expect(newest.destroyed).toBe(false);
});

test('launches are refused below the disk reserve, and nothing else is', async () => {
  await using lab = await HostLab.open({ diskReserveBytes: 2 * 1024 ** 3 });
  const service = await lab.connectRaw();
  await service.greet();
  await service.call(launch(1, 'm1'));
  lab.diskFreeBytes = 2 * 1024 ** 3 - 1024 ** 2;
  expect((await service.call(launch(2, 'm2'))).error).toEqual({
    code: 'disk_full',
    message:
      'The file system of the data folder has 2 GiB left, which is less than its reserve of 2 GiB. Free space there.',
  });
  expect(await service.call({ id: 3, call: 'pause', machine: 'm1' })).toEqual({ id: 3, ok: {} });
  lab.diskFreeBytes += 1024 ** 2;
  expect(await service.call(launch(4, 'm2'))).toEqual({ id: 4, ok: {} });
});

test('a launch whose service is gone is cancelled, and its machine is destroyed if it is ready anyway', async () => {
  await using lab = await HostLab.open();
  const service = await lab.connectRaw();
  await service.greet();
  const held = Promise.withResolvers<void>();
  const signals: (AbortSignal | undefined)[] = [];
  lab.driver.beforeLaunched = ({ signal }) => {
    signals.push(signal);
    return held.promise;
  };
  service.send(launch(1, 'm1'));
  await expect.poll(() => signals.length).toBe(1);
  service.close();
  await expect.poll(() => signals[0]?.aborted).toBe(true);
  held.resolve();
  await expect.poll(() => lab.driver.machines.map(({ destroyed }) => destroyed)).toEqual([true]);
});

test('an error of the driver reaches the service as one line, and the log of the host process', async () => {
  await using lab = await HostLab.open();
  const service = await lab.connectRaw();
  await service.greet();
  lab.driver.beforeLaunched = () => Promise.reject(new Error(`no space left\n${'x'.repeat(10_000)}`));
  const { error } = await service.call(launch(1, 'm1'));
  expect(error).toMatchObject({ code: 'failed', message: expect.stringMatching(/^no space left x+…$/) });
  expect(lab.hostLog.lines).toContainEqual(
    expect.objectContaining({ event: 'host_call_failed', fields: expect.objectContaining({ machine_id: 'm1' }) }),
  );
});

test('a call that takes too long is answered, and a machine that is ready later is destroyed', async () => {
  await using lab = await HostLab.open({ launchMs: 20 });
  const service = await lab.connectRaw();
  await service.greet();
  const held = Promise.withResolvers<void>();
  lab.driver.beforeLaunched = () => held.promise;
  expect(await service.call(launch(1, 'm1'))).toMatchObject({ error: { code: 'too_late' } });
  held.resolve();
  await expect.poll(() => lab.driver.machines.map(({ destroyed }) => destroyed)).toEqual([true]);
});
