import type { ChaosApi } from './chaos-api.ts';
import { ranPath } from './client.ts';
import {
  type AuditedDatabase,
  type LedgerRow,
  readLedger,
  readNumber,
  readSandboxes,
  type SandboxRow,
} from './database.ts';
import type { Acknowledgements, SentCommand, SentFile } from './history.ts';

const hourMs = 3_600_000;

/** Checks that each run was charged once, from ready to end, and that the balance is the sum of the ledger. */
export async function auditLedger(database: AuditedDatabase): Promise<string[]> {
  const [sandboxes, ledger] = [await readSandboxes(database), await readLedger(database)];
  const balance = await readNumber(database, 'select sum(balance_micro_usd) from accounts');
  const credits = sumOf(ledger.filter(({ kind }) => kind === 'credit'));
  const expected = sandboxes.reduce((remaining, sandbox) => {
    const entry = ledger.find(({ sandboxId }) => sandboxId === sandbox.id);
    return remaining - (hasEnded(sandbox) && entry !== undefined ? costOf(sandbox, entry.atMs) : 0);
  }, credits);
  return [
    ...sandboxes.flatMap((sandbox) => chargeProblems(sandbox, ledger)),
    ...(balance === sumOf(ledger) ? [] : [`the balance is ${balance}, but the ledger adds up to ${sumOf(ledger)}`]),
    ...(balance === expected ? [] : [`the balance is ${balance}, but the runs add up to ${expected}`]),
  ];
}

function sumOf(entries: readonly LedgerRow[]): number {
  return entries.reduce((sum, entry) => sum + entry.amountMicroUsd, 0);
}

/** Whether a sandbox ran and has ended. One whose create failed counts as never having run. */
function hasEnded({ readyAtMs, status, statusReason }: SandboxRow): boolean {
  return readyAtMs !== null && status !== 'running' && !statusReason?.startsWith('provisioning_failed');
}

function costOf(sandbox: SandboxRow, endedAtMs: number): number {
  return Math.round((runtimeOf(sandbox, endedAtMs) * sandbox.priceMicroUsdPerHour) / hourMs);
}

function runtimeOf({ readyAtMs, expiresAtMs }: SandboxRow, endedAtMs: number): number {
  return Math.max(Math.min(endedAtMs, expiresAtMs ?? endedAtMs) - (readyAtMs ?? endedAtMs), 0);
}

function chargeProblems(sandbox: SandboxRow, ledger: readonly LedgerRow[]): string[] {
  const charges = ledger.filter(({ sandboxId }) => sandboxId === sandbox.id);
  const wanted = hasEnded(sandbox) ? 1 : 0;
  if (charges.length !== wanted) return [`${sandbox.id} (${sandbox.status}) was charged ${charges.length} times`];
  return charges.flatMap(({ amountMicroUsd, runtimeMs, atMs }) => {
    const problems: string[] = [];
    if (-amountMicroUsd !== costOf(sandbox, atMs)) problems.push(`${sandbox.id} was charged ${-amountMicroUsd}`);
    if (runtimeMs !== runtimeOf(sandbox, atMs)) problems.push(`${sandbox.id} was charged for ${runtimeMs} ms`);
    if (sandbox.endedAtMs !== (sandbox.readyAtMs ?? 0) + runtimeMs)
      problems.push(`${sandbox.id} ended at ${sandbox.endedAtMs}, but was charged for ${runtimeMs} ms`);
    if (atMs > (sandbox.deletedAtMs ?? atMs)) problems.push(`${sandbox.id} was charged after it was deleted`);
    return problems;
  });
}

const reasons: Readonly<Record<string, RegExp>> = {
  failed: /^(machine_died|provisioning_failed|evicted): ./,
  deleted: /^(deleted|deleted_by_operator|expired|service_stopped|(machine_died|provisioning_failed|evicted): .+)$/,
};

/** Checks the records of all sandboxes: ended ones have a reason and a time, no key created two, and everything acknowledged still holds. */
export async function auditRecords(database: AuditedDatabase, acknowledged: Acknowledgements): Promise<string[]> {
  const sandboxes = await readSandboxes(database);
  const byId = new Map(sandboxes.map((sandbox) => [sandbox.id, sandbox]));
  return [
    ...sandboxes.flatMap(endProblems),
    ...createProblems(sandboxes, byId, acknowledged),
    ...promiseProblems(byId, acknowledged),
  ];
}

function endProblems({ id, status, statusReason, endedAtMs }: SandboxRow): string[] {
  if ((status === 'running') !== (endedAtMs === null)) return [`${id} is ${status} with the end ${endedAtMs}`];
  if (status === 'running') return statusReason === null ? [] : [`${id} is running with the reason ${statusReason}`];
  return reasons[status]?.test(statusReason ?? '') ? [] : [`${id} is ${status} with the reason ${statusReason}`];
}

/** Each idempotency key created at most one sandbox, even if the create was retried after a lost response. */
function createProblems(
  sandboxes: readonly SandboxRow[],
  byId: ReadonlyMap<string, SandboxRow>,
  { creates }: Acknowledgements,
): string[] {
  const ran = Map.groupBy(
    sandboxes.filter(({ readyAtMs }) => readyAtMs !== null),
    ({ name }) => name,
  );
  const duplicates = [...ran]
    .filter(([, runs]) => runs.length > 1)
    .map(([key]) => `${key} created more than one sandbox`);
  const mismatches = [...creates].flatMap(([key, ids]) => [
    ...(ids.size > 1 ? [`${key} returned ${[...ids].join(' and ')}`] : []),
    ...[...ids].flatMap((id) => (byId.get(id)?.name === key ? [] : [`${id} of ${key} has no record`])),
  ]);
  return [...duplicates, ...mismatches];
}

function promiseProblems(byId: ReadonlyMap<string, SandboxRow>, acknowledged: Acknowledgements): string[] {
  const { deleted, deleteRequested, reportedGone, expiriesMs } = acknowledged;
  const statusOf = (id: string) => byId.get(id)?.status ?? 'unknown';
  const isEnded = (id: string) => statusOf(id) === 'deleted' || statusOf(id) === 'failed';
  const unrequested = [...byId.values()].filter(
    ({ id, statusReason }) => statusReason === 'deleted' && !deleteRequested.has(id),
  );
  return [
    ...[...deleted]
      .filter((id) => statusOf(id) !== 'deleted')
      .map((id) => `${id} was acknowledged as deleted but is ${statusOf(id)}`),
    ...[...reportedGone].filter((id) => !isEnded(id)).map((id) => `${id} was reported as gone but is ${statusOf(id)}`),
    ...[...expiriesMs]
      .filter(([id, atMs]) => (byId.get(id)?.expiresAtMs ?? 0) < atMs)
      .map(([id]) => `${id} lost an extension`),
    ...unrequested.map(({ id }) => `${id} was deleted without a request`),
  ];
}

/** Checks that every execution a client received is stored unchanged, and that none is still running. */
export async function auditExecutions(
  database: AuditedDatabase,
  api: ChaosApi,
  { commands }: Acknowledgements,
): Promise<string[]> {
  const problems: string[] = [];
  for (const { response, token } of commands) {
    if (response === undefined) continue;
    const { status, body } = await api.request('GET', `/executions/${response.id}`);
    if (status !== 200) problems.push(`${response.id} of ${token} was acknowledged but now returns ${status}`);
    else if (JSON.stringify(body) !== JSON.stringify(response)) problems.push(`${response.id} of ${token} has changed`);
  }
  const running = await readNumber(database, "select count(*) from executions where status = 'running'");
  return running === 0 ? problems : [...problems, `${running} executions are still running`];
}

/** Checks a running sandbox: acknowledged writes are present, no file is incomplete, and every acknowledged command ran once. */
export async function auditSandbox(
  api: ChaosApi,
  sandboxId: string,
  acknowledged: Acknowledgements,
): Promise<string[]> {
  const isInSandbox = (sent: SentFile | SentCommand) => sent.sandboxId === sandboxId;
  const problems = await fileProblems(api, sandboxId, acknowledged.files.filter(isInSandbox));
  return [...problems, ...(await commandProblems(api, sandboxId, acknowledged.commands.filter(isInSandbox)))];
}

async function fileProblems(api: ChaosApi, sandboxId: string, files: readonly SentFile[]): Promise<string[]> {
  const problems: string[] = [];
  for (const { path, content, acknowledged } of files) {
    const { status, body } = await api.request('GET', `/sandboxes/${sandboxId}/files?path=${path}`);
    if (status === 404 && !acknowledged) continue;
    if (status !== 200) problems.push(`${path} in ${sandboxId} returns ${status}`);
    else if (body.content !== content) problems.push(`${path} in ${sandboxId} differs from what was written`);
  }
  return problems;
}

async function commandProblems(api: ChaosApi, sandboxId: string, commands: readonly SentCommand[]): Promise<string[]> {
  const { status, body } = await api.request('GET', `/sandboxes/${sandboxId}/files?path=${ranPath}`);
  const ran = status === 200 ? String(body.content).split('\n').filter(Boolean) : [];
  const counts = new Map(commands.map(({ token }) => [token, ran.filter((line) => line === token).length]));
  const wrong = commands.filter(({ token, response }) => {
    const count = counts.get(token) ?? 0;
    return count > 1 || (count === 0 && response !== undefined);
  });
  const completed = await countCompleted(api, sandboxId);
  return [
    ...wrong.map(({ token }) => `${token} in ${sandboxId} ran ${counts.get(token)} times`),
    ...(completed < ran.length
      ? [`${ran.length} commands ran in ${sandboxId}, but ${completed} executions are completed`]
      : []),
  ];
}

/** How many executions of a sandbox are completed, over all pages. */
async function countCompleted(api: ChaosApi, sandboxId: string): Promise<number> {
  let completed = 0;
  for (let after = ''; ; ) {
    const { body } = await api.request('GET', `/sandboxes/${sandboxId}/executions?limit=100${after}`);
    const data = (body.data ?? []) as { readonly status: string }[];
    completed += data.filter(({ status }) => status === 'completed').length;
    if (typeof body.next_cursor !== 'string') return completed;
    after = `&starting_after=${body.next_cursor}`;
  }
}
