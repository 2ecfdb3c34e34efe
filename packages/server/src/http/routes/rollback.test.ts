import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { storeSnapshot } from '../../../test/app/stored-snapshot.ts';
import { stubService } from '../../../test/app/stub-service.ts';
import { resultOf } from '../../../test/core/stub-guest.ts';
import { GuestUnreachable } from '../../core/ports/guest-agent.ts';
import { HostFull, SnapshotUnusable } from '../../core/ports/machine-driver.ts';
import type { SandboxStore } from '../../core/ports/store/sandbox-store.ts';
import { reconcile } from '../../core/recovery/reconcile.ts';
import { destroyAllSandboxes, detachAllSandboxes } from '../../core/sandboxes/end.ts';

let service: Awaited<ReturnType<typeof stubService>>;
let sandboxId: string;
let snapshotId: string;
beforeEach(async () => {
  service = await stubService();
  sandboxId = (await service.call('POST', '/v1/sandboxes')).body.id;
  snapshotId = await storeSnapshot(service, sandboxId);
  service.clock.advanceMs(10_000);
});
afterEach(() => service[Symbol.asyncDispose]());

const rollback = (to = snapshotId, id = sandboxId) =>
  service.call('POST', `/v1/sandboxes/${id}/rollback`, { snapshot_id: to });
const get = async (id = sandboxId) => (await service.call('GET', `/v1/sandboxes/${id}`)).body;
const exec = () => service.call('POST', `/v1/sandboxes/${sandboxId}/exec`, { command: 'ls' });
const machineOf = (id = sandboxId) => service.core.machines.find(id)?.machine;
const errorOf = ({ status, body }: Awaited<ReturnType<typeof rollback>>) => [
  status,
  body.error.type,
  body.error.message,
];
const original = () => service.driver.machines[0] ?? service.driver.newest;
const down = () => Promise.reject(new Error('the database is down'));

describe('a rollback', () => {
  test('puts a machine of the snapshot in the place of the old one; id, lifetime, price and previews stay', async () => {
    const before = await get();
    await service.call('POST', `/v1/sandboxes/${sandboxId}/ports`, { port: 80 });
    const [port] = (await service.call('GET', `/v1/sandboxes/${sandboxId}/ports`)).body.data;
    const { status, body } = await rollback();
    expect([status, body]).toEqual([200, before]);
    const { newest } = service.driver;
    expect([newest.id, newest.snapshotId]).toEqual([expect.stringMatching(/^roll_/), snapshotId]);
    expect(machineOf()).toBe(newest);
    expect((await service.store.sandboxes.read(sandboxId))?.machineId).toBe(newest.id);
    const [first, second] = service.connector.identities;
    expect(second).toEqual({
      hostname: sandboxId.replace('_', '-'),
      machineId: expect.stringMatching(/^[0-9a-f]{32}$/),
      expiresAtMs: Date.parse(before.expires_at ?? ''),
    });
    expect(second?.machineId).not.toBe(first?.machineId);
    await service.core.background.idle();
    expect([original().destroyed, newest.destroyed]).toEqual([true, false]);
    expect((await service.call('GET', `/v1/sandboxes/${sandboxId}/ports`)).body.data).toEqual([port]);
    expect((await exec()).status).toBe(200);
  });

  test('works twice in a row', async () => {
    expect([(await rollback()).status, (await rollback()).status]).toEqual([200, 200]);
    await service.core.background.idle();
    expect(service.driver.machines.map(({ destroyed }) => destroyed)).toEqual([true, true, false]);
  });

  test('never asks the old machine for anything', async () => {
    service.connector.disconnect();
    const attach = service.connector.attach.bind(service.connector);
    const attached = vi.spyOn(service.connector, 'attach').mockImplementation((machine, ...more) => {
      if (machine.id === original().id) return new Promise(() => {});
      return attach(machine, ...more);
    });
    const gone = Promise.withResolvers<void>();
    original().beforeDestroyed = () => gone.promise;
    expect((await rollback()).status).toBe(200);
    expect(attached.mock.calls.map(([machine]) => machine.id)).not.toContain(original().id);
    gone.resolve();
  });

  test('fails commands in flight with that reason, and cuts open connections of previews', async () => {
    const started = Promise.withResolvers<string>();
    service.connector.command = ({ id }) => {
      started.resolve(id);
      return new Promise(() => {});
    };
    const answer = exec();
    const executionId = await started.promise;
    let cut = 0;
    service.core.previewTraffic.track({ sandboxId, port: 80 }, () => {
      cut += 1;
    });
    expect((await rollback()).status).toBe(200);
    expect(errorOf(await answer)).toEqual([
      502,
      'execution_failed',
      `The command may or may not have run: the sandbox was rolled back to ${snapshotId}.`,
    ]);
    expect((await service.call('GET', `/v1/executions/${executionId}`)).body.status).toBe('failed');
    expect(cut).toBe(1);
  });

  test('fails commands that nobody waits for, even if the agent in the snapshot knows them', async () => {
    const startedAtMs = service.clock.nowMs();
    const execution = { id: 'exec_old', accountId: 'acct_test', sandboxId, startedAtMs, isLive: false };
    await service.store.executions.insert(execution);
    service.connector.resumed = async () => resultOf();
    await rollback();
    expect((await service.call('GET', '/v1/executions/exec_old')).body.status).toBe('failed');
  });

  test('tells the new machine of an extension that came during the launch', async () => {
    const launching = Promise.withResolvers<void>();
    const launched = Promise.withResolvers<void>();
    service.driver.beforeLaunched = () => {
      launching.resolve();
      return launched.promise;
    };
    const answer = rollback();
    await launching.promise;
    const { body } = await service.call('POST', `/v1/sandboxes/${sandboxId}/extend`, { additional_minutes: 5 });
    launched.resolve();
    expect((await answer).body.expires_at).toBe(body.expires_at);
    await service.core.background.idle();
    expect(service.connector.expiries.at(-1)).toBe(Date.parse(body.expires_at ?? ''));
  });

  test('the death of the old machine during its teardown does not fail the sandbox; the death of the new one does', async () => {
    const gone = Promise.withResolvers<void>();
    original().beforeDestroyed = () => gone.promise;
    expect((await rollback()).status).toBe(200);
    original().die('killed by SIGKILL');
    gone.resolve();
    await service.core.background.idle();
    expect((await get()).status).toBe('running');
    service.driver.newest.die('killed by SIGKILL');
    await service.core.background.idle();
    expect(await get()).toMatchObject({ status: 'failed', status_reason: 'machine_died: killed by SIGKILL' });
  });

  test('is billed as if nothing happened', async () => {
    await rollback();
    service.clock.advanceMs(50_000);
    await service.call('DELETE', `/v1/sandboxes/${sandboxId}`);
    expect((await service.store.ledger.summary('acct_test', 0)).runtimeMs).toBe(60_000);
  });
});

describe('which snapshots', () => {
  const copyOf = async (id: string) => (await service.call('POST', '/v1/sandboxes', { snapshot_id: id })).body.id;

  test('its own, and the snapshots of its ancestors up to the instant of the copy', async () => {
    const copied = await copyOf(snapshotId);
    service.clock.advanceMs(1_000);
    const ofCopy = await storeSnapshot(service, copied);
    const later = await storeSnapshot(service, sandboxId);
    service.clock.advanceMs(1_000);
    const { body } = await service.call('POST', `/v1/sandboxes/${copied}/fork`);
    const grandchild = String((body as unknown as { data: [{ sandbox: { id: string } }] }).data[0].sandbox.id);
    for (const allowed of [snapshotId, ofCopy]) {
      expect((await rollback(allowed, copied)).status).toBe(200);
      expect((await rollback(allowed, grandchild)).status).toBe(200);
    }
    for (const id of [copied, grandchild]) {
      expect(errorOf(await rollback(later, id))).toEqual([
        400,
        'invalid_request',
        `Snapshot ${later} was not taken of sandbox ${id}, nor of a sandbox that ${id} was copied from before that copy was made. Create a new sandbox from the snapshot instead.`,
      ]);
    }
    expect((await rollback(ofCopy, sandboxId)).status).toBe(400);
  });

  /** Starts a fork of the sandbox. Resolves to the id of the copy. */
  const fork = async () => {
    const { body } = await service.call('POST', `/v1/sandboxes/${sandboxId}/fork`);
    return String((body as unknown as { data: [{ sandbox: { id: string } }] }).data[0].sandbox.id);
  };
  const take = async () => (await service.call('POST', `/v1/sandboxes/${sandboxId}/snapshots`)).body.id;

  test('a fork returns to one that was saved before it, although the fork was requested first', async () => {
    const { sandboxes } = service.store;
    const insert = sandboxes.insert.bind(sandboxes);
    const [inserting, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    vi.spyOn(sandboxes, 'insert').mockImplementationOnce(async (...given) => {
      inserting.resolve();
      await released.promise;
      return await insert(...given);
    });
    const forked = fork();
    await inserting.promise;
    service.clock.advanceMs(1_000);
    const before = await take();
    service.clock.advanceMs(1_000);
    released.resolve();
    expect((await rollback(before, await forked)).status).toBe(200);
  });

  test('a fork does not return to one that was requested while the fork waited, and saved after it', async () => {
    const [saving, saved] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    original().beforeSaved = () => {
      saving.resolve();
      return saved.promise;
    };
    const waits = vi.spyOn(service.core.machineLocks, 'run');
    const first = take();
    await saving.promise;
    const forked = fork();
    await vi.waitFor(() => expect(waits).toHaveBeenCalledTimes(2), { timeout: 30_000 });
    service.clock.advanceMs(1_000);
    const after = take();
    await vi.waitFor(() => expect(waits).toHaveBeenCalledTimes(3), { timeout: 30_000 });
    service.clock.advanceMs(1_000);
    saved.resolve();
    const copy = await forked;
    expect([(await rollback(await first, copy)).status, (await rollback(await after, copy)).status]).toEqual([
      200, 400,
    ]);
  });

  test('not one of an unrelated sandbox, an unknown one, or one that is not ready', async () => {
    const other = (await service.call('POST', '/v1/sandboxes')).body.id;
    expect((await rollback(await storeSnapshot(service, other))).status).toBe(400);
    expect(errorOf(await rollback('snap_none'))).toEqual([404, 'not_found', 'No such snapshot.']);
    for (const status of ['creating', 'failed'] as const) {
      const [code, , message] = errorOf(await rollback(await storeSnapshot(service, sandboxId, { status })));
      expect([code, message]).toEqual([400, expect.stringContaining(`(status: ${status})`)]);
    }
  });

  test('an invalid body, then an unknown sandbox, then one that is not running', async () => {
    const path = '/v1/sandboxes/sbx_none/rollback';
    expect(errorOf(await service.call('POST', path, {}))).toEqual([
      400,
      'invalid_request',
      'snapshot_id must be a string',
    ]);
    expect((await rollback(snapshotId, 'sbx_none')).status).toBe(404);
    original().die('killed');
    await service.core.background.idle();
    expect((await rollback()).status).toBe(409);
    await service.call('DELETE', `/v1/sandboxes/${sandboxId}`);
    expect((await rollback()).status).toBe(404);
  });
});

describe('a rollback that fails leaves the sandbox as it was', () => {
  const expectUnchanged = async () => {
    await service.core.background.idle();
    expect(service.driver.machines.filter(({ destroyed }) => !destroyed)).toEqual([original()]);
    expect(machineOf()).toBe(original());
    expect((await get()).status).toBe('running');
    expect((await service.store.sandboxes.read(sandboxId))?.machineId).toBe(original().id);
    expect((await exec()).status).toBe(200);
  };

  test.each([
    [new Error('EIO: /var/lib/mayfly'), 'provisioning_failed', 'the machine did not start. It goes on as it was. Try'],
    [new HostFull('no'), 'capacity_unavailable', 'the host has no room for another machine. It goes on as it was. Try'],
    [
      new SnapshotUnusable('It needs another CPU.'),
      'provisioning_failed',
      'It needs another CPU. It goes on as it was.',
    ],
  ])('because its machine does not launch: %s', async (error, type, message) => {
    service.driver.beforeLaunched = () => Promise.reject(error);
    expect(errorOf(await rollback())).toEqual([
      503,
      type,
      expect.stringContaining(`The sandbox could not be rolled back: ${message}`),
    ]);
    await expectUnchanged();
  });

  test('because the agent of the new machine does not answer', async () => {
    vi.spyOn(service.connector, 'attach').mockRejectedValueOnce(new GuestUnreachable('the agent does not answer'));
    expect((await rollback()).status).toBe(503);
    await expectUnchanged();
  });

  test('because there is no room for one more machine', async () => {
    await using full = await stubService({}, { MAYFLY_MAX_MACHINES: '1' });
    const { body } = await full.call('POST', '/v1/sandboxes');
    const stored = await storeSnapshot(full, body.id);
    const path = `/v1/sandboxes/${body.id}/rollback`;
    const refused = await full.call('POST', path, { snapshot_id: stored });
    expect([refused.status, refused.body.error.type]).toEqual([503, 'capacity_unavailable']);
    expect(full.driver.machines).toHaveLength(1);
  });

  test('because the database is down at the swap', async () => {
    vi.spyOn(service.store.sandboxes, 'change').mockImplementationOnce(down);
    expect((await rollback()).status).toBe(500);
    await expectUnchanged();
  });

  test('a swap that was stored but not confirmed is a success', async () => {
    const { sandboxes } = service.store;
    const write = sandboxes.change.bind(sandboxes);
    const unconfirmed: SandboxStore['change'] = async (...given) => {
      await write(...given);
      return await down();
    };
    vi.spyOn(sandboxes, 'change').mockImplementationOnce(unconfirmed);
    expect((await rollback()).status).toBe(200);
    expect(machineOf()).toBe(service.driver.newest);
  });

  test('a swap that was stored, not confirmed, and could not be read again is corrected later', async () => {
    const { sandboxes } = service.store;
    const write = sandboxes.change.bind(sandboxes);
    vi.spyOn(sandboxes, 'change').mockImplementationOnce(async (...given) => {
      await write(...given);
      vi.spyOn(sandboxes, 'read').mockImplementationOnce(down);
      return await down();
    });
    expect((await rollback()).status).toBe(500);
    expect((await sandboxes.read(sandboxId))?.machineId).toMatch(/^roll_/);
    await reconcile(service.core);
    await expectUnchanged();
  });
});

test.each([
  ['is deleted', () => service.call('DELETE', `/v1/sandboxes/${sandboxId}`), 404],
  ['dies', async () => original().die('killed'), 409],
])('a sandbox that %s during the launch: the new machine is destroyed', async (_, end, status) => {
  const launching = Promise.withResolvers<void>();
  const launched = Promise.withResolvers<void>();
  service.driver.beforeLaunched = () => {
    launching.resolve();
    return launched.promise;
  };
  const answer = rollback();
  await launching.promise;
  await end();
  launched.resolve();
  expect((await answer).status).toBe(status);
  await service.core.background.idle();
  expect(service.driver.machines.map(({ destroyed, dead }) => destroyed || dead)).toEqual([true, true]);
});

test('a sandbox that is deleted right after the swap was stored: both machines are destroyed', async () => {
  const { sandboxes } = service.store;
  const write = sandboxes.change.bind(sandboxes);
  vi.spyOn(sandboxes, 'change').mockImplementationOnce(async (...given) => {
    const replaced = await write(...given);
    await service.call('DELETE', `/v1/sandboxes/${sandboxId}`);
    return replaced;
  });
  expect((await rollback()).status).toBe(404);
  await service.core.background.idle();
  expect(service.driver.machines.map(({ destroyed }) => destroyed)).toEqual([true, true]);
  expect([...service.core.machines.sandboxIds()]).toEqual([]);
});

test('an eviction whose record failed, right after the swap was stored: both machines are destroyed', async () => {
  const { sandboxes } = service.store;
  const write = sandboxes.change.bind(sandboxes);
  vi.spyOn(sandboxes, 'change').mockImplementationOnce(async (...given) => {
    const replaced = await write(...given);
    await service.core.machines.destroy(sandboxId);
    return replaced;
  });
  expect(errorOf(await rollback())).toEqual([
    503,
    'provisioning_failed',
    'The sandbox could not be rolled back: its machine is gone. Create a new sandbox from the snapshot.',
  ]);
  await service.core.background.idle();
  expect(service.driver.machines.map(({ destroyed }) => destroyed)).toEqual([true, true]);
});

test('reconciliation leaves a sandbox alone whose old machine died after the swap was stored', async () => {
  const { sandboxes } = service.store;
  const write = sandboxes.change.bind(sandboxes);
  vi.spyOn(sandboxes, 'change').mockImplementationOnce(async (...given) => {
    const replaced = await write(...given);
    original().die('killed');
    await service.core.machines.find(sandboxId)?.machine.exited;
    await reconcile(service.core);
    return replaced;
  });
  expect((await rollback()).status).toBe(200);
  await service.core.background.idle();
  expect([(await get()).status, service.driver.newest.destroyed]).toEqual(['running', false]);
});

test('an extension between the write and the swap reaches the new machine', async () => {
  const { sandboxes } = service.store;
  const write = sandboxes.change.bind(sandboxes);
  let extended: string | null = null;
  vi.spyOn(sandboxes, 'change').mockImplementationOnce(async (...given) => {
    const replaced = await write(...given);
    const path = `/v1/sandboxes/${sandboxId}/extend`;
    extended = (await service.call('POST', path, { additional_minutes: 7 })).body.expires_at;
    return replaced;
  });
  const { body } = await rollback();
  expect(body.expires_at).toBe(extended);
  await service.core.background.idle();
  expect(service.connector.expiries.at(-1)).toBe(Date.parse(extended ?? ''));
});

test.each([
  ['keeps its sandboxes', detachAllSandboxes],
  ['ends its sandboxes', destroyAllSandboxes],
])('a service that stops and %s does not wait for the launch', async (_, stop) => {
  const launching = Promise.withResolvers<void>();
  service.driver.beforeLaunched = ({ signal }) => {
    launching.resolve();
    return new Promise((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason as Error));
    });
  };
  const answer = rollback();
  await launching.promise;
  await stop(service.core);
  expect((await answer).status).toBe(503);
  expect(service.driver.machines).toHaveLength(1);
});

describe('a snapshot that is deleted: 404, as for an unknown one, and the sandbox goes on', () => {
  const expectNotFound = async (answer: ReturnType<typeof rollback>) => {
    expect(errorOf(await answer)).toEqual([404, 'not_found', 'No such snapshot.']);
    await service.core.background.idle();
    expect(service.driver.machines.filter(({ destroyed }) => !destroyed)).toEqual([original()]);
    expect(machineOf()).toBe(original());
  };

  test('while the rollback waits for a save, even if its files are still there', async () => {
    const [saving, saved] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    original().beforeSaved = () => {
      saving.resolve();
      return saved.promise;
    };
    const taking = service.call('POST', `/v1/sandboxes/${sandboxId}/snapshots`);
    await saving.promise;
    const waits = vi.spyOn(service.core.machineLocks, 'run');
    const answer = rollback();
    await vi.waitFor(() => expect(waits).toHaveBeenCalledOnce(), { timeout: 30_000 });
    service.driver.deleteSnapshot = () => Promise.reject(new Error('not now'));
    await service.call('DELETE', `/v1/snapshots/${snapshotId}`);
    saved.resolve();
    await taking;
    await expectNotFound(answer);
  });

  test('while its launch waits', async () => {
    const [launching, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    service.driver.beforeLaunched = () => {
      launching.resolve();
      return released.promise;
    };
    const answer = rollback();
    await launching.promise;
    await service.call('DELETE', `/v1/snapshots/${snapshotId}`);
    released.resolve();
    await expectNotFound(answer);
  });
});

test('a rollback that waits too long for a save answers 503 and never starts', async () => {
  await using slow = await stubService({ saveMs: 20 });
  const { id } = (await slow.call('POST', '/v1/sandboxes')).body;
  const stored = await storeSnapshot(slow, id);
  const saved = Promise.withResolvers<void>();
  slow.driver.newest.beforeSaved = () => saved.promise;
  await slow.call('POST', `/v1/sandboxes/${id}/snapshots`);
  expect(errorOf(await slow.call('POST', `/v1/sandboxes/${id}/rollback`, { snapshot_id: stored }))).toEqual([
    503,
    'provisioning_failed',
    'The sandbox could not be rolled back: it took too long. It goes on as it was. Try again.',
  ]);
  saved.resolve();
  await new Promise(setImmediate);
  await slow.core.background.idle();
  expect(slow.driver.machines).toHaveLength(1);
});

test('a machine that cannot be destroyed after a rollback is retried, also if the sandbox is deleted meanwhile', async () => {
  let attempts = 0;
  original().beforeDestroyed = async () => {
    attempts += 1;
    if (attempts < 2) throw new Error('busy');
  };
  await rollback();
  await service.call('DELETE', `/v1/sandboxes/${sandboxId}`);
  await vi.waitFor(() => expect(original().destroyed).toBe(true), { timeout: 30_000 });
});
