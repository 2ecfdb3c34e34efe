import { existsSync, statfsSync } from 'node:fs';
import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { maxLayerBytes } from '#server/machines/qemu/restore.ts';
import { runProgram } from '#server/system/run-program.ts';
import { call, createSandbox, deleteSandbox, exec, output, type SandboxBody } from '../support/api-requests.ts';
import { machinePids } from '../support/machine-processes.ts';
import { unlimitedRates } from '../support/service-settings.ts';
import { mountSmallFileSystem, type SmallFileSystem } from '../support/small-file-system.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

const mib = 1024 ** 2;
const reserveMib = 250;
/** Twice the reserve, room for the ballast, and what the machines and the file system itself take: all beyond that a guest would have to fill. */
const diskMib = 800;
/** Between two commands of the innocent sandbox, which shares its CPU with the other guests. */
const pauseMs = 200;

let fileSystem: SmallFileSystem;
let service: TestService;
let innocent: SandboxBody;
beforeAll(async () => {
  fileSystem = await mountSmallFileSystem(diskMib);
  service = await startTestService({
    ...unlimitedRates,
    MAYFLY_DATA_DIR: fileSystem.path,
    MAYFLY_DISK_RESERVE_MB: String(reserveMib),
    MAYFLY_DISK_OVERCOMMIT: '1000',
    MAYFLY_LOG_LEVEL: 'error',
  });
  innocent = await createSandbox(service);
});
afterAll(async () => {
  try {
    await service?.stop();
  } finally {
    await fileSystem?.[Symbol.asyncDispose]();
  }
});

const freeMib = () => {
  const { bavail, bsize } = statfsSync(fileSystem.path);
  return (bavail * bsize) / mib;
};
const readSandbox = async (id: string) =>
  (await (await call(service, 'GET', `/sandboxes/${id}`)).json()) as SandboxBody;
/** Creates are admitted again once the space is free. */
async function createAgain(): Promise<void> {
  const attempt = async () => {
    const response = await create();
    return { status: response.status, sandbox: (await response.json()) as SandboxBody };
  };
  let created = await attempt();
  await expect
    .poll(async () => {
      if (created.status !== 201) created = await attempt();
      return created.status;
    })
    .toBe(201);
  const { id } = created.sandbox;
  expect(await output(service, id, 'echo ready')).toBe('ready');
  await deleteSandbox(service, id);
}

const create = () => call(service, 'POST', '/sandboxes');

/** Runs commands in the innocent sandbox until told to stop. Every one of them writes to the database twice. */
function keepWorking() {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  let commands = 0;
  let leastFreeMib = freeMib();
  const watch = setInterval(() => {
    leastFreeMib = Math.min(leastFreeMib, freeMib());
  }, 20);
  stop.signal.addEventListener('abort', () => clearInterval(watch));
  // Failures are reported by finish().
  const done = (async () => {
    while (!stop.signal.aborted) {
      expect((await exec(service, innocent.id, 'true')).exit_code).toBe(0);
      commands += 1;
      await pause(pauseMs);
    }
  })();
  done.catch(() => {});
  return {
    commands: () => commands,
    finish: async () => {
      stop.abort();
      await done;
      return { commands, leastFreeMib: Math.round(leastFreeMib) };
    },
  };
}

it('creates are refused before the reserve is touched; then the sandbox that wrote most ends with a reason, and nobody else notices', async () => {
  await expect.poll(() => existsSync(join(fileSystem.path, 'service', 'ballast'))).toBe(true);
  const hostile = await createSandbox(service);
  const work = keepWorking();
  // Up to one and a half times the reserve creates are admitted, up to one and a quarter sandboxes stay.
  const fillMib = Math.round(freeMib() - 1.4 * reserveMib);
  await output(service, hostile.id, `dd if=/dev/zero of=/workspace/fill bs=1M count=${fillMib} conv=fsync status=none`);
  const refused = await create();
  expect([refused.status, ((await refused.json()) as { error: { type: string } }).error.type]).toEqual([
    503,
    'capacity_unavailable',
  ]);
  expect((await readSandbox(hostile.id)).status).toBe('running');
  const filling = call(service, 'POST', `/sandboxes/${hostile.id}/exec`, {
    command: 'dd if=/dev/zero of=/workspace/more bs=1M status=none',
    timeout_ms: 300_000,
  });
  await expect.poll(async () => (await readSandbox(hostile.id)).status, { interval: 250 }).toBe('failed');
  expect((await readSandbox(hostile.id)).status_reason).toMatch(
    /^evicted: the host was running out of disk space, and this sandbox had written the most \([\d.,]+ [MG]iB\)$/,
  );
  expect((await filling).status).toBe(502);
  const { commands, leastFreeMib } = await work.finish();
  console.log(
    `a guest filled the disk: reserve ${reserveMib} MiB, least free ${leastFreeMib} MiB, ${commands} commands of the innocent sandbox succeeded meanwhile`,
  );
  expect(leastFreeMib).toBeGreaterThan(0);
  expect((await readSandbox(innocent.id)).status).toBe('running');
  await createAgain();
});

it('on a disk that another program filled to the last byte the database still writes', async () => {
  const filler = join(fileSystem.path, 'filler');
  onTestFinished(() => rm(filler, { force: true }));
  const ballast = join(fileSystem.path, 'service', 'ballast');
  await expect.poll(() => existsSync(ballast)).toBe(true);
  // No more than is free now: the ballast may be released meanwhile, and its space is for the database.
  const count = `count=${Math.ceil(freeMib())}`;
  const fill = ['if=/dev/zero', `of=${filler}`, 'bs=1M', count, 'status=none'];
  await runProgram('dd', fill, { deadlineMs: 120_000 }).catch(() => {});
  const freeWhenFullMib = freeMib();
  await expect.poll(() => existsSync(ballast)).toBe(false);
  const work = keepWorking();
  await expect.poll(work.commands).toBeGreaterThan(5);
  expect((await create()).status).toBe(503);
  const { commands } = await work.finish();
  expect((await readSandbox(innocent.id)).status).toBe('running');
  console.log(`a full disk (${freeWhenFullMib.toFixed(1)} MiB free): ballast released, ${commands} commands stored`);
  await rm(filler);
  await expect.poll(() => existsSync(ballast)).toBe(true);
  await createAgain();
});

it('no machine can make its disk layer larger than its limit: the guest sees an I/O error, and the machine lives on', async () => {
  const pidOf = async (id: string) => (await machinePids(fileSystem.path)).get(id) ?? 0;
  const limits = await readFile(`/proc/${await pidOf(innocent.id)}/limits`, 'utf8');
  expect(Number(/^Max file size +(\d+) +(\d+) /m.exec(limits)?.[2])).toBe(maxLayerBytes(40));

  const hostile = await createSandbox(service);
  const layer = await stat(join(fileSystem.path, 'machines', hostile.id, 'disk.qcow2'));
  const maxBytes = layer.size + 24 * mib;
  // Under the machine's own uid, because even root needs a privilege for the limits of others.
  const pid = await pidOf(hostile.id);
  const { uid, gid } = await stat(`/proc/${pid}/ns`);
  const asMachine = ['--reuid', String(uid), '--regid', String(gid), '--clear-groups', '--'];
  await runProgram('setpriv', [...asMachine, 'prlimit', '--pid', String(pid), `--fsize=${maxBytes}`]);
  const dd = 'dd if=/dev/zero of=/workspace/fill bs=1M count=72 conv=fsync';
  const written = await exec(service, hostile.id, dd, { timeout_ms: 300_000 });
  expect([written.exit_code, written.stderr]).toEqual([
    1,
    expect.stringMatching(/Input\/output error|Read-only file system/),
  ]);
  expect((await stat(join(fileSystem.path, 'machines', hostile.id, 'disk.qcow2'))).size).toBeLessThanOrEqual(maxBytes);
  expect((await exec(service, hostile.id, 'true')).exit_code).toBe(0);
  expect((await readSandbox(hostile.id)).status).toBe('running');
  await deleteSandbox(service, hostile.id);
});
