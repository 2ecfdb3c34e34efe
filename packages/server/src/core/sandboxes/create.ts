import type { CreateSandboxBody } from '@mayfly/contract';
import type { Core } from '../context.ts';
import { ApiError } from '../errors/api-error.ts';
import type { AccountRecord, NewSandbox, SandboxRecord } from '../ports/store.ts';
import type { CreateOutcome } from './creations.ts';
import { provision } from './provision.ts';

/** Makes a sandbox and answers once it takes commands. The same idempotency key gives the same sandbox again. */
export function createSandbox(
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
    timeoutMinutes: body.timeout_minutes,
    idempotencyKey,
    createdAtMs: core.clock.nowMs(),
  };
  return core.background.track(core.creations.run(wanted.id, (abort) => insertAndProvision(core, wanted, abort)));
}

async function insertAndProvision(core: Core, wanted: NewSandbox, abort: AbortController): Promise<CreateOutcome> {
  if (!core.accepting()) throw new ApiError('capacity_unavailable', 'the service is starting or stopping');
  const inserted = await core.store.sandboxes.insert(wanted);
  if (inserted.kind === 'replayed') return { sandbox: await settled(core, inserted.sandbox), created: false };
  return { sandbox: await provision(core, inserted.sandbox, abort), created: true };
}

/** The sandbox of an earlier create, once that create has answered; fails as it fails. */
async function settled(core: Core, earlier: SandboxRecord): Promise<SandboxRecord> {
  if (earlier.status !== 'provisioning') return earlier;
  const outcome = await core.creations.outcomeOf(earlier.id);
  if (outcome !== undefined) return outcome.sandbox;
  return (await core.store.sandboxes.read(earlier.id)) ?? earlier;
}
