import type { Core } from '../context.ts';
import { oneLine } from '../errors/one-line.ts';
import { advance } from '../lifecycle/advance.ts';
import type { Machine, MachineExit } from '../ports/machine-driver.ts';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';
import { teardown } from './teardown.ts';

/** From now on a machine that dies by itself makes its sandbox `failed`. */
export function watchMachine(core: Core, sandbox: SandboxRecord, machine: Machine): void {
  void machine.exited.then((exit) => {
    if (exit.requested) return;
    core.metrics.machineDied(sandbox.size, 'sandbox');
    core.background
      .track(machineDied(core, sandbox, exit))
      .catch((err: unknown) => core.log.error({ sandbox_id: sandbox.id, err }, 'machine_death_unrecorded'));
  });
}

async function machineDied(core: Core, sandbox: SandboxRecord, exit: MachineExit): Promise<void> {
  const reason = oneLine(exit.reason);
  const { sandbox: kept } = await advance(core, sandbox, { kind: 'machine_died', reason });
  core.log.warn({ sandbox_id: sandbox.id, account_id: sandbox.accountId, reason }, 'machine_died');
  await teardown(core, kept);
}
