import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Machine } from '#server/core/ports/machine-driver.ts';
import { machinePids } from '../../test/support/machine-processes.ts';
import type { BenchHost } from '../support/bench-host.ts';
import { alternateAll, median, timed } from '../support/measure.ts';
import type { Row } from '../support/table.ts';

const rounds = 7;
const together = 10;
const baseline = 'create small';
const mib = 1024 ** 2;

interface Made {
  readonly id: string;
  readonly bytes?: number;
}

/**
 * Snapshots: how long a machine stands still, idle and with 2 GiB of dirtied memory; taking one, creating from it, going back to it and forking, compared
 * with creating from the base template. Prints what ten copies take of disk and memory.
 */
export async function snapshotRows(bench: BenchHost): Promise<Row[]> {
  const pauses = await pauseRows(bench);
  const post = async (path: string, status: number, body?: unknown) =>
    (await bench.call('POST', path, status, body)) as Made;
  const remove = (id: string) => bench.call('DELETE', `/sandboxes/${id}`, 200);
  const original = await post('/sandboxes', 201, { timeout_minutes: 120 });
  const snapshot = await post(`/sandboxes/${original.id}/snapshots`, 201);
  const create = async (body?: unknown) => {
    const { ms, result } = await timed(() => post('/sandboxes', 201, body));
    await remove(result.id);
    return ms;
  };
  const medians = await alternateAll(rounds, {
    base: () => create(),
    copy: () => create({ snapshot_id: snapshot.id }),
    take: async () => {
      const { ms, result } = await timed(() => post(`/sandboxes/${original.id}/snapshots`, 201));
      await bench.call('DELETE', `/snapshots/${result.id}`, 200);
      return ms;
    },
    rollback: async () =>
      (await timed(() => post(`/sandboxes/${original.id}/rollback`, 200, { snapshot_id: snapshot.id }))).ms,
  });
  const forks = await forkTogether(bench, original.id);
  await remove(original.id);
  await bench.call('DELETE', `/snapshots/${snapshot.id}`, 200);
  console.log(
    `snapshot: ${((snapshot.bytes ?? 0) / mib).toFixed(1)} MiB on disk; private memory of ${together} forks: ${forks.privateMib.map((each) => each.toFixed(0)).join(' ')} MiB`,
  );
  const against = { baseline, baselineMs: medians.base };
  return [
    ...pauses,
    { name: 'take a snapshot', measuredMs: medians.take, ...against },
    { name: 'create from a snapshot', measuredMs: medians.copy, target: 1.2, ...against },
    { name: 'roll back', measuredMs: medians.rollback, ...against },
    { name: `fork, ${together} at once, per copy`, measuredMs: forks.ms / together, ...against },
  ];
}

/** The pause that a guest goes through, against what it may be. */
async function pauseRows(bench: BenchHost): Promise<Row[]> {
  const machine = await bench.driver.launch({ id: 'bench-pause', size: 'small' });
  try {
    const agent = await bench.connector.attach(machine, 60_000);
    const idle = await pauseOf(bench, machine);
    const fill =
      "python3 -c \"import os,time; b = bytearray(os.urandom(1 << 20)) * 2048; open('filled','w').close(); time.sleep(3600)\" &";
    const command = `cd /tmp; (${fill}) >/dev/null 2>&1; until [ -e filled ]; do sleep 0.2; done`;
    await agent.execute({ id: 'exec_fill', command, cwd: '/', env: {}, timeoutMs: 300_000, captureBytes: 1_024 });
    const filled = await pauseOf(bench, machine);
    agent.close();
    return [
      { name: 'pause of a snapshot, idle', measuredMs: idle, baseline: 'what it may be', baselineMs: 300, target: 1 },
      {
        name: 'pause with 2 GiB dirtied',
        measuredMs: filled,
        baseline: 'what it may be',
        baselineMs: 1_000,
        target: 1,
      },
    ];
  } finally {
    await machine.destroy();
  }
}

async function pauseOf(bench: BenchHost, machine: Machine): Promise<number> {
  const pauses: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    const { pausedMs } = await machine.save('bench-snapshot');
    pauses.push(pausedMs);
    await bench.driver.deleteSnapshot('bench-snapshot');
  }
  return median(pauses);
}

async function forkTogether(bench: BenchHost, id: string): Promise<{ ms: number; privateMib: number[] }> {
  const { ms, result } = await timed(() => bench.call('POST', `/sandboxes/${id}/fork`, 201, { count: together }));
  const forks = (result as { data: { sandbox: Made | null }[] }).data.map(({ sandbox }) => sandbox?.id ?? '');
  const pids = await machinePids(join(bench.folder, 'data'));
  const privateMib = await Promise.all(forks.map((fork) => privateMibOf(pids.get(fork) ?? 0)));
  await Promise.all(forks.map((fork) => bench.call('DELETE', `/sandboxes/${fork}`, 200)));
  return { ms, privateMib };
}

/** Memory that no other process shares. */
async function privateMibOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  const kib = [...text.matchAll(/^Private_(?:Clean|Dirty): +(\d+) kB$/gm)].map(([, value]) => Number(value));
  return kib.reduce((sum, value) => sum + value, 0) / 1024;
}
