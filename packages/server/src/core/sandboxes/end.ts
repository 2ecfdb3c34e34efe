import type { SizeName } from '@mayfly/contract';
import { notFound, oneLine } from '../errors/api-error.ts';
import { type AdvanceNeeds, advance } from '../lifecycle/advance.ts';
import type { LifecycleEvent } from '../lifecycle/decide.ts';
import type { MachineRegistry } from '../machines/registry.ts';
import type { Teardowns } from '../machines/teardowns.ts';
import { HostUnavailable, type Machine, type MachineExit } from '../ports/machine-driver.ts';
import type { Log } from '../ports/runtime.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import { openStatuses, type SandboxRecord } from '../ports/store/sandbox-store.ts';
import type { BackgroundTasks } from '../scheduling/background-tasks.ts';
import { withDeadline } from '../scheduling/deadline.ts';
import type { CreatesInFlight } from './creates-in-flight.ts';
import { getSandbox, type ReadSandboxNeeds } from './read.ts';

/** What tearing a sandbox down needs. */
export interface TeardownNeeds extends AdvanceNeeds {
  readonly machines: MachineRegistry;
  readonly teardowns: Teardowns;
  readonly deadlines: { readonly teardownMs: number };
  readonly log: Log;
}

/** What ending a sandbox on request needs: it may still be provisioning. */
export interface DeleteNeeds extends ReadSandboxNeeds, TeardownNeeds {
  readonly createsInFlight: CreatesInFlight;
}

/** What noticing the death of a machine needs. */
export interface WatchMachineNeeds extends TeardownNeeds {
  readonly background: BackgroundTasks;
}

/** A machine that is launched to take the place of another one. */
export interface ReplacementInFlight {
  readonly size: SizeName;
  /** Cancels the launch. */
  readonly abort: AbortController;
}

/** What letting go of all sandboxes needs when the service stops. */
export interface StopNeeds extends DeleteNeeds {
  readonly background: BackgroundTasks;
  /** By the id of the machine, until it serves its sandbox. */
  readonly replacementsInFlight: ReadonlyMap<string, ReplacementInFlight>;
}

/** Ends a sandbox. Returns it `deleted`, or `deleting` if the teardown takes longer than its deadline and continues. */
export async function deleteSandbox(core: DeleteNeeds, account: AccountRecord, id: string): Promise<SandboxRecord> {
  const ended = await endSandbox(core, await getSandbox(core, account, id), { kind: 'delete_requested' });
  if (ended === undefined) throw notFound('sandbox');
  return ended;
}

/** Ends a sandbox because an operator asks for it; otherwise like `deleteSandbox`. One that was deleted before stays as it is. */
export async function deleteSandboxAsOperator(core: DeleteNeeds, sandbox: SandboxRecord): Promise<SandboxRecord> {
  return (await endSandbox(core, sandbox, { kind: 'delete_requested', byOperator: true })) ?? sandbox;
}

/** Undefined if the sandbox was deleted before. */
async function endSandbox(
  core: DeleteNeeds,
  found: SandboxRecord,
  event: LifecycleEvent,
): Promise<SandboxRecord | undefined> {
  const { sandbox, before, changed } = await advance(core, found, event);
  if (sandbox.status === 'deleted' && !changed) return undefined;
  if (before === 'provisioning') core.createsInFlight.cancel(found.id);
  if (before !== 'running') return sandbox;
  return await teardownByDeadline(core, sandbox);
}

/**
 * Ends every sandbox past its expiry that has a machine; reconcile handles those without one. One failure does not affect the others, and a
 * teardown that is stuck delays neither them nor the next sweep.
 */
export async function expireSandboxes(core: TeardownNeeds): Promise<void> {
  const expired = await core.store.sandboxes.expired(core.clock.nowMs());
  const served = expired.filter(({ id }) => core.machines.serves(id));
  await Promise.allSettled(served.map((sandbox) => expire(core, sandbox)));
}

async function expire(core: TeardownNeeds, sandbox: SandboxRecord): Promise<void> {
  const { sandbox: expired, changed } = await advance(core, sandbox, { kind: 'expiry_passed' });
  if (changed) await teardownByDeadline(core, expired);
}

/** Marks the sandbox `failed` when its machine exits without having been asked to, unless another machine serves the sandbox by then. */
export function watchMachine(core: WatchMachineNeeds, sandbox: SandboxRecord, machine: Machine): void {
  void machine.exited.then((exit) => {
    const serving = core.machines.find(sandbox.id);
    if (exit.requested || (serving !== undefined && serving.machine !== machine)) return;
    core.metrics.machineDied(sandbox.size, 'sandbox');
    core.background
      .track(recordDeath(core, sandbox, machine.id, exit))
      .catch((err: unknown) => core.log.error({ sandbox_id: sandbox.id, err }, 'machine_death_recording_failed'));
  });
}

async function recordDeath(
  core: TeardownNeeds,
  sandbox: SandboxRecord,
  machineId: string,
  exit: MachineExit,
): Promise<void> {
  const reason = oneLine(exit.reason);
  const detail = exit.detail === undefined ? undefined : oneLine(exit.detail);
  const { sandbox: failed } = await advance(core, sandbox, { kind: 'machine_died', reason, machineId });
  if (failed.status === 'running') return;
  core.log.warn({ sandbox_id: sandbox.id, account_id: sandbox.accountId, reason, detail }, 'machine_died');
  await teardown(core, failed);
}

/** When the service stops: cancels the creates and rollbacks in flight and detaches running machines, which the next run adopts. */
export async function detachAllSandboxes(core: StopNeeds): Promise<void> {
  for (const sandbox of await core.store.sandboxes.withStatus(['provisioning'])) {
    await advance(core, sandbox, { kind: 'service_stopping' });
    core.createsInFlight.cancel(sandbox.id);
  }
  cancelReplacements(core);
  core.machines.detachAll();
  await core.background.idle();
}

/** When the service stops for good: ends every sandbox and destroys its machine. Commands in flight fail. */
export async function destroyAllSandboxes(core: StopNeeds): Promise<void> {
  const open = await core.store.sandboxes.withStatus(openStatuses);
  cancelReplacements(core);
  await Promise.allSettled(
    open.map(async (sandbox) => {
      const { sandbox: ended, before } = await advance(core, sandbox, { kind: 'service_stopping' });
      if (before === 'provisioning') core.createsInFlight.cancel(sandbox.id);
      else await teardown(core, ended);
    }),
  );
  await core.background.idle();
}

function cancelReplacements({ replacementsInFlight }: StopNeeds): void {
  for (const { abort } of replacementsInFlight.values()) abort.abort(new HostUnavailable('the service is stopping'));
}

/** Tears a sandbox down. If that fails or takes longer than its deadline, it continues in the background and the sandbox is returned as it is. */
export async function teardownByDeadline(core: TeardownNeeds, sandbox: SandboxRecord): Promise<SandboxRecord> {
  try {
    return await withDeadline('the teardown', core.deadlines.teardownMs, teardown(core, sandbox));
  } catch (err) {
    core.log.warn({ sandbox_id: sandbox.id, account_id: sandbox.accountId, err }, 'teardown_deferred');
    return sandbox;
  }
}

/**
 * Destroys the machine of a sandbox, if it has one, and marks a `deleting` sandbox `deleted`. Rejects if the first attempt fails; retries
 * continue in the background until one succeeds.
 */
export async function teardown(core: TeardownNeeds, sandbox: SandboxRecord): Promise<SandboxRecord> {
  const ids = { sandbox_id: sandbox.id, account_id: sandbox.accountId };
  return await core.teardowns.run(sandbox.id, ids, async () => {
    await core.machines.destroy(sandbox.id);
    const { sandbox: ended, changed } = await advance(core, sandbox, { kind: 'machine_gone' });
    if (changed) core.log.info({ ...ids, reason: ended.statusReason }, 'sandbox_deleted');
    return ended;
  });
}
