import { type Holdings, holdingsOf, orphanNetworks, orphanRules } from './holdings.ts';
import { waitUntil } from './wait-until.ts';

/** Networks that a service makes ahead of need. */
const networksAhead = 2;
const settleMs = 30_000;

/** What stands out of the holdings of a service that runs just these machines and keeps so many more in its pool. */
const differences = (held: Holdings, machineIds: readonly string[], pooled: number): string[] => {
  const wanted = new Set(machineIds);
  const kinds = { processes: held.processes, folders: held.folders, cgroups: held.cgroups };
  const found = Object.entries(kinds).flatMap(([kind, ids]) => {
    const missing = machineIds.filter((id) => !ids.includes(id)).map((id) => `no ${kind} of ${id}`);
    const others = ids.filter((id) => !wanted.has(id));
    const pool = others.filter((id) => id.startsWith('pool_'));
    const strays = others.filter((id) => !id.startsWith('pool_')).map((id) => `${kind}: ${id} is left`);
    return [...missing, ...strays, ...(pool.length === pooled ? [] : [`${kind}: ${pool.length} in the pool`])];
  });
  const networks = machineIds.length + pooled + networksAhead;
  for (const [kind, list] of Object.entries({ networks: held.networks, uids: held.uids })) {
    if (list.length !== networks) found.push(`${list.length} ${kind} instead of ${networks}: ${list.join(' ')}`);
  }
  return [...found, ...held.mounts.map((mount) => `mounted: ${mount}`)];
};

/** Waits until a running service holds exactly what these machines and its pool need; gives what stands out if it never does. */
export const strayHoldings = (dataDir: string, machineIds: readonly string[], pooled: number): Promise<string[]> =>
  untilNone(async () => [
    ...differences(await holdingsOf(dataDir), machineIds, pooled),
    ...(await orphanNetworks()).map((orphan) => `nobody's ${orphan}`),
  ]);

/** Waits until nothing of a data folder's machines is on the host any more; gives what is if that never happens. */
export const leftovers = (dataDir: string): Promise<string[]> =>
  untilNone(async () => [
    ...Object.entries(await holdingsOf(dataDir)).flatMap(([kind, ids]) =>
      (ids as readonly string[]).map((id) => `${kind}: ${id}`),
    ),
    ...(await orphanNetworks()).map((orphan) => `nobody's ${orphan}`),
    ...orphanRules(),
  ]);

/** What the look finds at last: nothing as soon as it finds nothing. */
const untilNone = async (look: () => Promise<string[]>): Promise<string[]> => {
  let found: string[] = [];
  await waitUntil(async () => {
    found = await look();
    return found.length === 0;
  }, settleMs);
  return found;
};
