import type { CreateOptions, Mayfly, Sandbox } from '@mayfly/sdk';
import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { printable } from '../output.ts';
import { addNewSandboxOptions, type NewSandboxOptions } from '../sandboxes/sandbox-options.ts';
import type { Interruption } from './interruption.ts';

/** What kind of sandbox is created, and whether it stays. */
export interface SandboxOptions extends NewSandboxOptions {
  readonly keep?: true;
}

/** How long the deletion of a sandbox may take, with its retries. */
const deleteMs = 60_000;

/** Adds the options of commands that create a sandbox for themselves. */
export function addSandboxOptions(command: Command): Command {
  return addNewSandboxOptions(command).option('--keep', 'do not delete the sandbox at the end');
}

export { readSandboxOptions } from '../sandboxes/sandbox-options.ts';

/**
 * Creates a sandbox, does something with it, and deletes it however that ends, unless `keep` says otherwise when the work is done. If it cannot be
 * deleted, says so on stderr.
 */
export async function inNewSandbox<Result>(
  mayfly: Mayfly,
  options: CreateOptions,
  { io, interruption, keep }: { io: CliIo; interruption: Interruption; keep: () => boolean },
  work: (sandbox: Sandbox) => Promise<Result>,
): Promise<Result> {
  const sandbox = await mayfly.sandboxes.create({ ...options, signal: interruption.first });
  try {
    return await work(sandbox);
  } finally {
    if (keep()) io.stderr.write(`Sandbox ${sandbox.id} is kept${untilExpiry(sandbox)}.\n`);
    else await deleteSandbox(sandbox, io, interruption);
  }
}

async function deleteSandbox(sandbox: Sandbox, { stderr }: CliIo, interruption: Interruption): Promise<void> {
  try {
    await sandbox.delete({ signal: interruption.third, deadlineMs: deleteMs });
  } catch (error) {
    const reason = error instanceof Error ? printable(error.message) : String(error);
    const advice = `Delete it with: mayfly rm ${sandbox.id}`;
    stderr.write(`Sandbox ${sandbox.id} was not deleted: ${reason} It goes on${untilExpiry(sandbox)}. ${advice}\n`);
  }
}

function untilExpiry({ expiresAt }: Sandbox): string {
  return expiresAt === null ? '' : ` until ${expiresAt.toISOString()}`;
}
