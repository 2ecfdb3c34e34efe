import type { Sandbox } from '@mayfly/contract';

/** What is known about an account that may be new. Undefined parts are not known yet. */
export interface Beginnings {
  readonly activeKeys: number | undefined;
  /** Every sandbox that it ever had. */
  readonly everything: readonly Sandbox[] | undefined;
  /** Whether a command was run, or a terminal opened, in its only sandbox. */
  readonly hasCommand: boolean;
}

/** Which steps from a key to the first command are done, and whether they are worth showing. */
export interface FirstSteps {
  readonly hasKey: boolean;
  readonly sandbox: Sandbox | undefined;
  readonly hasCommand: boolean;
}

/** Returns the steps for an account without a sandbox, or whose first one is there; undefined for any other one. */
export function firstSteps({ activeKeys, everything, hasCommand }: Beginnings): FirstSteps | undefined {
  if (everything === undefined || everything.length > 1) return undefined;
  const [sandbox] = everything;
  if (sandbox !== undefined && sandbox.status !== 'running' && sandbox.status !== 'provisioning') return undefined;
  return { hasKey: (activeKeys ?? 0) > 0, sandbox, hasCommand: sandbox !== undefined && hasCommand };
}
