import type { ForkSandboxBody } from '@mayfly/contract';
import { limitsOf } from '../accounts/account-limits.ts';
import { ApiError } from '../errors/api-error.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { NewSandbox, SandboxRecord } from '../ports/store/sandbox-store.ts';
import { insertAdmitted, type NewSandboxNeeds, timeoutMinutesFor } from '../sandboxes/create.ts';
import { provision, type SavedOrigin } from '../sandboxes/provision.ts';
import { getSandbox, type ReadSandboxNeeds, requireRunning } from '../sandboxes/read.ts';
import { deleteFilesLater } from '../snapshots/remove.ts';
import { admitSave, expectedBytes, type SaveNeeds, saveFailure, saveMachine } from '../snapshots/save-machine.ts';
import type { SaveInFlight } from '../snapshots/saves-in-flight.ts';

/** What forking a sandbox needs. */
export type ForkNeeds = ReadSandboxNeeds & NewSandboxNeeds & SaveNeeds;

/** What became of one copy. */
export type ForkOutcome = { readonly sandbox: SandboxRecord } | { readonly error: unknown };

/**
 * Makes copies of a running sandbox out of one save, which is not kept. Each copy is admitted separately. Returns an outcome for each; throws if
 * none was made. The fork continues when its caller stops waiting. `countCreations` is called once the sandbox is found running, and throws if the rate
 * window has no room for the copies.
 */
export async function forkSandbox(
  core: ForkNeeds,
  account: AccountRecord,
  sandboxId: string,
  body: ForkSandboxBody,
  countCreations: () => void,
): Promise<readonly ForkOutcome[]> {
  const timeoutMinutes = timeoutMinutesFor(core.limits, account, body.timeout_minutes);
  const { creationsPerMinute } = limitsOf(core.limits, account);
  if (body.count > creationsPerMinute) {
    const limit = `this account may create ${creationsPerMinute} sandboxes per minute`;
    throw new ApiError('invalid_request', `count must be at most ${creationsPerMinute}: ${limit}`);
  }
  const source = await getSandbox(core, account, sandboxId);
  requireRunning(source);
  countCreations();
  const snapshotId = core.ids.next('snap');
  const neededBytes = await expectedBytes(core, sandboxId);
  const outcomes = await core.savesInFlight.run(snapshotId, { neededBytes }, (save) =>
    fork(core, account, source, { ...body, timeoutMinutes, snapshotId, save }),
  );
  if (outcomes.some((outcome) => 'sandbox' in outcome)) return outcomes;
  const failed = outcomes.find((outcome) => 'error' in outcome);
  // If the sandbox ended during the save, that is the reason.
  requireRunning(await getSandbox(core, account, sandboxId));
  throw failed?.error;
}

interface ForkRequest {
  readonly count: number;
  readonly name: string | null;
  readonly timeoutMinutes: number;
  /** The save that the copies are made from. */
  readonly snapshotId: string;
  readonly save: SaveInFlight;
}

async function fork(
  core: ForkNeeds,
  account: AccountRecord,
  source: SandboxRecord,
  request: ForkRequest,
): Promise<readonly ForkOutcome[]> {
  try {
    const copies = await saveForCopies(core, account, source, request);
    return await Promise.all(copies.map((copy) => outcomeOf(core, source.id, copy)));
  } finally {
    deleteFilesLater(core, request.snapshotId);
  }
}

async function outcomeOf(core: ForkNeeds, sandboxId: string, copy: Promise<SandboxRecord>): Promise<ForkOutcome> {
  try {
    return { sandbox: await copy };
  } catch (error) {
    if (!(error instanceof ApiError)) core.log.error({ sandbox_id: sandboxId, err: error }, 'fork_copy_failed');
    return { error };
  }
}

/** Admits the copies, then saves the sandbox if any was admitted. Returns the copies, which are still being made. */
async function saveForCopies(
  core: ForkNeeds,
  account: AccountRecord,
  source: SandboxRecord,
  { count, name, timeoutMinutes, snapshotId, save }: ForkRequest,
): Promise<readonly Promise<SandboxRecord>[]> {
  const saved = Promise.withResolvers<SavedOrigin>();
  saved.promise.catch(() => {});
  const nowMs = core.clock.nowMs();
  const wanted = (): NewSandbox => ({
    id: core.ids.next('sbx'),
    accountId: account.id,
    name,
    size: source.size,
    timeoutMinutes,
    idempotencyKey: null,
    priceMicroUsdPerHour: core.prices[source.size],
    origin: { sandboxId: source.id, atMs: nowMs, snapshotId: null },
    createdAtMs: nowMs,
  });
  const copies = Array.from({ length: count }, () =>
    startCopy(core, account, wanted(), { snapshotId, prepared: saved.promise, save }),
  );
  const admissions = await Promise.all(copies.map(({ admitted }) => admitted));
  if (admissions.includes(true)) {
    const request = { snapshotId, sandboxId: source.id, accountId: account.id };
    // Not the time at which the save starts: snapshots have the times of their requests, and one that is requested while this save waits is saved after it.
    const copiedAtMs = core.clock.nowMs();
    await saveMachine(core, request).then(
      ({ pausedMs }) => {
        core.log.info(
          { sandbox_id: source.id, snapshot_id: snapshotId, paused_ms: Math.round(pausedMs) },
          'machine_saved_for_fork',
        );
        saved.resolve({ copiedAtMs });
      },
      (error: unknown) => saved.reject(saveFailure(error)),
    );
    // What it takes on disk can be measured from now on.
    save.admitted = false;
  }
  return copies.map(({ made }) => made);
}

interface Copy {
  /** Whether credit, quota and capacity allow it. Never rejects. */
  readonly admitted: Promise<boolean>;
  readonly made: Promise<SandboxRecord>;
}

interface CopySource {
  /** The snapshot that is being saved. */
  readonly snapshotId: string;
  /** Resolves once it is saved. */
  readonly prepared: Promise<SavedOrigin>;
  readonly save: SaveInFlight;
}

/** Starts one copy. Once it is admitted, it waits for the save. */
function startCopy(core: ForkNeeds, account: AccountRecord, wanted: NewSandbox, { save, ...source }: CopySource): Copy {
  const { promise: admitted, resolve } = Promise.withResolvers<boolean>();
  const create = core.createsInFlight.run(wanted, async (inFlight) => {
    const inserted = await insertAdmitted(core, account, wanted, inFlight, {
      capacity: () => admitSave(core, save),
    });
    if (inserted.kind === 'refused') throw inserted.refusal;
    resolve(true);
    const sandbox = await provision(core, inserted.sandbox, { abort: inFlight.abort, ...source });
    return { sandbox, created: true };
  });
  const made = create.then(({ sandbox }) => sandbox);
  made.catch(() => resolve(false));
  return { admitted, made };
}
