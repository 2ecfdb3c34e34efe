import { advance } from '../lifecycle/advance.ts';
import type { Machine, MachineDriver } from '../ports/machine-driver.ts';
import { openStatuses, type SandboxRecord } from '../ports/store/sandbox-store.ts';
import type { OwnerStore } from '../ports/store/store.ts';
import { type TeardownNeeds, teardown, type WatchMachineNeeds, watchMachine } from '../sandboxes/end.ts';
import { type SendExpiryNeeds, sendExpiry } from '../sandboxes/extend.ts';
import { forEachConcurrently } from '../scheduling/for-each-concurrently.ts';
import { type RecoverExecutionsNeeds, recoverExecutions } from './recover-executions.ts';

/** What adopting the machines of an earlier run needs. */
export type AdoptNeeds = WatchMachineNeeds &
  SendExpiryNeeds &
  RecoverExecutionsNeeds & {
    readonly store: { readonly owner: OwnerStore };
  };

/** How many sandboxes or machines are handled at the same time. */
const concurrency = 8;

/**
 * At start: matches the machines that an earlier run left running with their sandboxes. Sandboxes without a machine end, machines without
 * a sandbox are destroyed, and executions are recovered.
 */
export async function adoptMachines(core: AdoptNeeds, driver: Pick<MachineDriver, 'adopt'>): Promise<void> {
  const orphans = new Map((await driver.adopt()).map((machine) => [machine.id, machine]));
  const lastAliveMs = (await core.store.owner.lastAliveMs()) ?? core.clock.nowMs();
  const open = await core.store.sandboxes.withStatus(openStatuses);
  const adopted: SandboxRecord[] = [];
  const ended: SandboxRecord[] = [];
  for (const sandbox of open) {
    const machine = takeMachine(orphans, sandbox);
    if (machine) core.machines.add(sandbox.id, machine);
    if (machine && sandbox.status === 'running') {
      watchMachine(core, sandbox, machine);
      adopted.push(sandbox);
    } else {
      ended.push(sandbox);
    }
  }
  await forEachConcurrently(ended, concurrency, (sandbox) => endSandbox(core, sandbox, lastAliveMs));
  await forEachConcurrently([...orphans.values()], concurrency, (machine) => core.teardowns.destroyOrphan(machine));
  const executions = await recoverExecutions(core);
  // An extend of the earlier run may not have reached its machine.
  void core.background.track(forEachConcurrently(adopted, concurrency, (sandbox) => sendExpiry(core, sandbox)));
  core.metrics.tookOver('adopted', adopted.length);
  core.metrics.tookOver('ended', ended.length);
  core.metrics.tookOver('orphaned', orphans.size);
  if (open.length + executions + orphans.size > 0) {
    const counts = { adopted: adopted.length, ended: ended.length, orphans: orphans.size, executions };
    core.log.warn(counts, 'machines_adopted');
  }
}

/** Removes and returns the machine of a sandbox: the one in its record, or one that was being launched for it. */
function takeMachine(machines: Map<string, Machine>, { id, machineId }: SandboxRecord): Machine | undefined {
  const name = machineId ?? id;
  const machine = machines.get(name);
  machines.delete(name);
  return machine;
}

/** Ends a sandbox that has no machine or was not running. A failed teardown is retried in the background. */
async function endSandbox(core: TeardownNeeds, sandbox: SandboxRecord, lastAliveMs: number): Promise<void> {
  const restarted = { kind: 'service_restarted', lastAliveMs } as const;
  const ended = sandbox.status === 'deleting' ? sandbox : (await advance(core, sandbox, restarted)).sandbox;
  await teardown(core, ended).catch(() => {});
}
