import { join } from 'node:path';
import { machineDeadlines } from '../../../core/ports/machine-deadlines.ts';
import { runProgram } from '../../../system/run-program.ts';
import type { ProcessIdentity } from './proc.ts';

const { killMs: deadlineMs } = machineDeadlines.destroy;

/**
 * Kills processes that are not children of this one. Their ids alone are not enough: an id may be given to another process between a check
 * and the signal. Node cannot open pidfds, so native/jail does.
 */
export class ProcessKiller {
  readonly #jailPath: string;

  constructor(jailPath: string) {
    this.#jailPath = jailPath;
  }

  /** Kills exactly this process. Does not wait for its end. A process that is gone is no error. */
  async killProcess({ pid, startTicks }: ProcessIdentity): Promise<void> {
    await runProgram(this.#jailPath, ['kill', 'process', String(pid), String(startTicks)], { deadlineMs });
  }

  /** Kills the processes of a cgroup, which may fork meanwhile. Does not wait for their end. */
  async killGroup(group: string): Promise<void> {
    await runProgram(this.#jailPath, ['kill', 'group', join(group, 'cgroup.procs')], { deadlineMs });
  }
}
