import type { CreateSandboxBody } from '@mayfly/contract';
import { limitsOf } from '../admission/account-limits.ts';
import { admit } from '../admission/admit.ts';
import type { Core } from '../context.ts';
import { ApiError } from '../errors/api-error.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { NewSandbox, SandboxRecord } from '../ports/store/sandbox-store.ts';
import type { CreateOutcome } from './creations.ts';
import { provision } from './provision.ts';

/** Makes a sandbox and answers once it takes commands. The same idempotency key gives the same sandbox again. */
export async function createSandbox(
  core: Core,
  account: AccountRecord,
  body: CreateSandboxBody,
  idempotencyKey: string | null,
): Promise<CreateOutcome> {
  const wanted: NewSandbox = {
    id: core.ids.next('sbx'),
    accountId: account.id,
    name: body.name,
    size: body.size,
    timeoutMinutes: lifetimeMinutes(core, account, body.timeout_minutes),
    idempotencyKey,
    priceMicroUsdPerHour: core.prices[body.size],
    createdAtMs: core.clock.nowMs(),
  };
  return core.background.track(
    core.creations.run(wanted.id, (abort) => insertAndProvision(core, account, wanted, abort)),
  );
}

/** The lifetime that was asked for, if the account may have it, else the default. */
function lifetimeMinutes(core: Core, account: AccountRecord, wanted: number | null): number {
  const { defaultTimeoutMinutes, maxTimeoutMinutes } = limitsOf(core.limits, account);
  if (wanted === null) return Math.min(defaultTimeoutMinutes, maxTimeoutMinutes);
  if (wanted <= maxTimeoutMinutes) return wanted;
  throw new ApiError('invalid_request', `timeout_minutes must be an integer from 1 to ${maxTimeoutMinutes}`);
}

async function insertAndProvision(
  core: Core,
  account: AccountRecord,
  wanted: NewSandbox,
  abort: AbortController,
): Promise<CreateOutcome> {
  const rules = {
    concurrentSandboxes: limitsOf(core.limits, account).concurrentSandboxes,
    smallPriceMicroUsdPerHour: core.prices.small,
  };
  try {
    const inserted = await core.store.sandboxes.insert(wanted, (facts) => {
      return admit(facts, rules, core.clock.nowMs()) ?? admitMachine(core, wanted);
    });
    if (inserted.kind === 'refused') throw inserted.refusal;
    if (inserted.kind === 'replayed') return { sandbox: await settled(core, inserted.sandbox), created: false };
    return { sandbox: await provision(core, inserted.sandbox, abort), created: true };
  } finally {
    core.capacity.settle(wanted.id);
  }
}

function admitMachine(core: Core, { id, size }: NewSandbox): ApiError | undefined {
  if (!core.accepting()) return new ApiError('capacity_unavailable', 'the service is starting or stopping');
  return core.capacity.admit(id, size);
}

/** The sandbox of an earlier create, once that create has answered; fails as it fails. */
async function settled(core: Core, earlier: SandboxRecord): Promise<SandboxRecord> {
  if (earlier.status !== 'provisioning') return earlier;
  const outcome = await core.creations.outcomeOf(earlier.id);
  if (outcome !== undefined) return outcome.sandbox;
  return (await core.store.sandboxes.read(earlier.id)) ?? earlier;
}
