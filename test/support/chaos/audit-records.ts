import type { Acknowledged } from './acknowledged.ts';
import { type AuditedDatabase, readSandboxes, type SandboxRow } from './database.ts';

const reasons: Readonly<Record<string, RegExp>> = {
  failed: /^(machine_died|provisioning_failed): ./,
  deleted: /^(deleted|expired|service_stopped|(machine_died|provisioning_failed): .+)$/,
};

/** Holds every sandbox's record against what was promised: ended ones say why, none was made twice, no promise was taken back. */
export const auditRecords = async (database: AuditedDatabase, acknowledged: Acknowledged): Promise<string[]> => {
  const sandboxes = await readSandboxes(database);
  const byId = new Map(sandboxes.map((sandbox) => [sandbox.id, sandbox]));
  return [
    ...sandboxes.flatMap(endProblems),
    ...createProblems(sandboxes, byId, acknowledged),
    ...promiseProblems(byId, acknowledged),
  ];
};

const endProblems = ({ id, status, statusReason }: SandboxRow): string[] => {
  if (status === 'running') return statusReason === null ? [] : [`${id} runs and says ${statusReason}`];
  return reasons[status]?.test(statusReason ?? '') ? [] : [`${id} is ${status} and says ${statusReason}`];
};

/** One key, one sandbox: also when a create was tried again after its answer was lost. */
const createProblems = (
  sandboxes: readonly SandboxRow[],
  byId: ReadonlyMap<string, SandboxRow>,
  { creates }: Acknowledged,
): string[] => {
  const ran = Map.groupBy(
    sandboxes.filter(({ readyAtMs }) => readyAtMs !== null),
    ({ name }) => name,
  );
  const twice = [...ran].filter(([, made]) => made.length > 1).map(([key]) => `${key} made more than one sandbox`);
  const told = [...creates].flatMap(([key, ids]) => [
    ...(ids.size > 1 ? [`${key} was answered with ${[...ids].join(' and ')}`] : []),
    ...[...ids].flatMap((id) => (byId.get(id)?.name === key ? [] : [`${id} of ${key} has no record`])),
  ]);
  return [...twice, ...told];
};

const promiseProblems = (byId: ReadonlyMap<string, SandboxRow>, acknowledged: Acknowledged): string[] => {
  const { deleted, deleteAsked, toldGone, expiriesMs } = acknowledged;
  const statusOf = (id: string) => byId.get(id)?.status ?? 'unknown';
  const isEnded = (id: string) => statusOf(id) === 'deleted' || statusOf(id) === 'failed';
  const unasked = [...byId.values()].filter(
    ({ id, statusReason }) => statusReason === 'deleted' && !deleteAsked.has(id),
  );
  return [
    ...[...deleted].filter((id) => statusOf(id) !== 'deleted').map((id) => `${id} was deleted and is ${statusOf(id)}`),
    ...[...toldGone].filter((id) => !isEnded(id)).map((id) => `${id} was said to be gone and is ${statusOf(id)}`),
    ...[...expiriesMs]
      .filter(([id, atMs]) => (byId.get(id)?.expiresAtMs ?? 0) < atMs)
      .map(([id]) => `${id} lost an extension`),
    ...unasked.map(({ id }) => `${id} was deleted without being asked`),
  ];
};
