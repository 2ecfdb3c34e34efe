import type { BenchHost } from '../support/bench-host.ts';
import { measureFootprints } from '../support/footprints.ts';
import { alternateAll, timed } from '../support/measure.ts';
import type { Footprint, Row } from '../support/table.ts';

const rounds = 7;
const together = 10;
const baseline = 'create small';
const mib = 1024 ** 2;

interface Made {
  readonly id: string;
  readonly bytes?: number;
}

/**
 * Taking a snapshot, creating from it, going back to it and forking, compared with creating from the base template. Also what ten forks take of disk and
 * memory, beside as many new sandboxes.
 */
export async function snapshotRows(
  bench: BenchHost,
): Promise<{ readonly rows: readonly Row[]; readonly footprints: readonly Footprint[] }> {
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
  const forked = await measureFootprints(bench, 'fork', forks.ids);
  await Promise.all(forks.ids.map(remove));
  const news = await Promise.all(Array.from({ length: together }, () => post('/sandboxes', 201)));
  const newIds = news.map(({ id }) => id);
  const created = await measureFootprints(bench, 'new sandbox', newIds);
  await Promise.all(newIds.map(remove));
  await remove(original.id);
  await bench.call('DELETE', `/snapshots/${snapshot.id}`, 200);
  const against = { baseline, baselineMs: medians.base };
  return {
    rows: [
      { name: 'take a snapshot', measuredMs: medians.take, ...against },
      { name: 'create from a snapshot', measuredMs: medians.copy, target: 1.2, ...against },
      { name: 'roll back', measuredMs: medians.rollback, ...against },
      { name: `fork, ${together} at once, per copy`, measuredMs: forks.ms / together, ...against },
    ],
    footprints: [
      ...forked,
      ...created,
      { name: 'bytes on disk of a snapshot', eachMib: [(snapshot.bytes ?? Number.NaN) / mib] },
    ],
  };
}

async function forkTogether(
  bench: BenchHost,
  id: string,
): Promise<{ readonly ms: number; readonly ids: readonly string[] }> {
  const { ms, result } = await timed(() => bench.call('POST', `/sandboxes/${id}/fork`, 201, { count: together }));
  const outcomes = (result as { data: { sandbox: Made | null }[] }).data;
  const ids = outcomes.flatMap(({ sandbox }) => (sandbox === null ? [] : [sandbox.id]));
  if (ids.length !== together) throw new Error(`${ids.length} of ${together} forks were made`);
  return { ms, ids };
}
