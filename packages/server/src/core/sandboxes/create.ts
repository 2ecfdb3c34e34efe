import type { CreateSandboxBody, Limits, SizeName } from '@mayfly/contract';
import { limitsOf } from '../accounts/account-limits.ts';
import { admit } from '../admission/admit.ts';
import type { Capacity } from '../admission/capacity.ts';
import { ApiError, notFound } from '../errors/api-error.ts';
import type { Clock, Ids } from '../ports/runtime.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { InsertOutcome, NewSandbox, SandboxRecord, SandboxStore } from '../ports/store/sandbox-store.ts';
import type { CreateInFlight, CreateOutcome, CreatesInFlight } from './creates-in-flight.ts';
import { type ProvisionNeeds, provision } from './provision.ts';
import { type FindSourceNeeds, findSource, wasDeletedMeanwhile } from './source.ts';

/** What admitting a new sandbox needs. */
export interface AdmitSandboxNeeds {
  readonly store: { readonly sandboxes: SandboxStore };
  readonly clock: Clock;
  readonly limits: Limits;
  /** In millionths of a dollar per hour; copied into each sandbox when it is created. */
  readonly prices: Readonly<Record<SizeName, number>>;
  readonly capacity: Capacity;
}

/** What creating a sandbox needs, whatever it is made from. */
export interface NewSandboxNeeds extends AdmitSandboxNeeds, ProvisionNeeds {
  readonly ids: Ids;
  readonly createsInFlight: CreatesInFlight;
}

/** What creating a sandbox from a template or a snapshot needs. */
export type CreateNeeds = NewSandboxNeeds & FindSourceNeeds;

/** Creates a sandbox and returns once it takes commands. The same idempotency key returns the same sandbox. */
export async function createSandbox(
  core: CreateNeeds,
  account: AccountRecord,
  body: CreateSandboxBody,
  idempotencyKey: string | null,
): Promise<CreateOutcome> {
  const timeoutMinutes = timeoutMinutesFor(core.limits, account, body.timeout_minutes);
  const { size, origin, refusal } = await findSource(core, account, body);
  const wanted: NewSandbox = {
    id: core.ids.next('sbx'),
    accountId: account.id,
    name: body.name,
    size,
    timeoutMinutes,
    idempotencyKey,
    priceMicroUsdPerHour: core.prices[size],
    origin,
    createdAtMs: core.clock.nowMs(),
  };
  return core.createsInFlight.run(wanted, async (create) => {
    const inserted = await insertAdmitted(core, account, wanted, create, { source: refusal });
    switch (inserted.kind) {
      case 'refused':
        throw inserted.refusal;
      case 'replayed':
        return { sandbox: await replay(core, inserted.sandbox), created: false };
      case 'inserted': {
        const options = { abort: create.abort, snapshotId: origin?.snapshotId ?? undefined };
        const sandbox = await provision(core, inserted.sandbox, options).catch(async (error: unknown) => {
          throw await answerFor(core, account, body, { snapshotId: options.snapshotId, error });
        });
        return { sandbox, created: true };
      }
    }
  });
}

/** What the caller of a create that failed is told: 404 if its snapshot was deleted meanwhile. */
async function answerFor(
  core: CreateNeeds,
  account: AccountRecord,
  { template }: CreateSandboxBody,
  { snapshotId, error }: { readonly snapshotId: string | undefined; readonly error: unknown },
): Promise<unknown> {
  const reason = error instanceof ApiError ? error.cause : error;
  if (snapshotId === undefined || !(await wasDeletedMeanwhile(core, account.id, snapshotId, reason))) return error;
  return notFound(template === null ? 'snapshot' : 'template');
}

/** The requested lifetime if the account may have it; the default if none is requested. */
export function timeoutMinutesFor(limits: Limits, account: AccountRecord, requested: number | null): number {
  const { defaultTimeoutMinutes, maxTimeoutMinutes } = limitsOf(limits, account);
  if (requested === null) return Math.min(defaultTimeoutMinutes, maxTimeoutMinutes);
  if (requested <= maxTimeoutMinutes) return requested;
  throw new ApiError('invalid_request', `timeout_minutes must be an integer from 1 to ${maxTimeoutMinutes}`);
}

/** Refusals that are known in advance. They do not concern a replay. */
export interface KnownRefusals {
  /** What the sandbox is made from cannot be used. Comes before credit and quota. */
  readonly source?: ApiError | undefined;
  /** The host has no room for what is needed besides its machine. Comes after them. */
  readonly capacity?: () => ApiError | undefined;
}

/** Stores the sandbox as `provisioning`, unless it is a replay, or is refused: for its source, credit, quota or capacity. */
export async function insertAdmitted(
  core: AdmitSandboxNeeds,
  account: AccountRecord,
  wanted: NewSandbox,
  create: CreateInFlight,
  known: KnownRefusals = {},
): Promise<InsertOutcome<ApiError>> {
  const rules = {
    concurrentSandboxes: limitsOf(core.limits, account).concurrentSandboxes,
    priceMicroUsdPerHour: wanted.priceMicroUsdPerHour,
    smallPriceMicroUsdPerHour: core.prices.small,
  };
  return await core.store.sandboxes.insert(
    wanted,
    (facts) =>
      known.source ?? admit(facts, rules, core.clock.nowMs()) ?? known.capacity?.() ?? admitMachine(core, create),
  );
}

/** Checks the capacity of the host and takes a place in it. The store may ask more than once for the same create. */
function admitMachine(core: AdmitSandboxNeeds, create: CreateInFlight): ApiError | undefined {
  if (create.admitted) return undefined;
  const refusal = core.capacity.refusalFor(create.size);
  create.admitted = refusal === undefined;
  return refusal;
}

/** The sandbox of an earlier create with the same key. Waits for a create in flight and fails if it fails. */
async function replay(core: NewSandboxNeeds, earlier: SandboxRecord): Promise<SandboxRecord> {
  if (earlier.status !== 'provisioning') return earlier;
  const outcome = await core.createsInFlight.outcomeOf(earlier.id);
  if (outcome !== undefined) return outcome.sandbox;
  return (await core.store.sandboxes.read(earlier.id)) ?? earlier;
}
