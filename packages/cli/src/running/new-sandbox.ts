import type { CreateOptions, Mayfly, Sandbox } from '@mayfly/sdk';
import type { Command } from 'commander';
import { type CliIo, CommandExit } from '../cli-io.ts';
import { type Interruption, untilAborted } from '../interruption.ts';
import { printable } from '../output.ts';
import { addNewSandboxOptions, type NewSandboxOptions } from '../sandboxes/sandbox-options.ts';

/** What kind of sandbox is created, and whether it stays. */
export interface SandboxOptions extends NewSandboxOptions {
  readonly keep?: true;
}

/** Said when a create is interrupted. */
export const interruptedCreate = 'Interrupted: deleting the sandbox. Press Ctrl-C again to leave it to its expiry.';
/** How long the deletion of a sandbox may take, with its retries. */
const deleteMs = 60_000;

/** Adds the options of commands that create a sandbox for themselves. */
export function addSandboxOptions(command: Command): Command {
  return addNewSandboxOptions(command).option('--keep', 'do not delete the sandbox at the end');
}

/**
 * Creates a sandbox, does something with it, and deletes it however that ends, unless `keep` says otherwise when the work is done. If it cannot be
 * deleted, says so on stderr. An interruption during the create deletes the sandbox too; a second one leaves it and ends the process.
 */
export async function inNewSandbox<Result>(
  mayfly: Mayfly,
  options: CreateOptions,
  { io, interruption, keep }: { io: CliIo; interruption: Interruption; keep: () => boolean },
  work: (sandbox: Sandbox) => Promise<Result>,
): Promise<Result> {
  const sandbox = await createSandbox(mayfly, options, io, interruption);
  try {
    return await work(sandbox);
  } finally {
    if (keep()) io.stderr.write(`Sandbox ${sandbox.id} is kept${untilExpiry(sandbox)}.\n`);
    else await deleteSandbox(sandbox, io, interruption);
  }
}

async function createSandbox(
  mayfly: Mayfly,
  options: CreateOptions,
  { stderr }: CliIo,
  interruption: Interruption,
): Promise<Sandbox> {
  const { first, second } = interruption;
  const notify = () => stderr.write(`\n${interruptedCreate}\n`);
  first.addEventListener('abort', notify, { once: true });
  try {
    return await untilAborted(second, mayfly.sandboxes.create({ ...options, signal: first }));
  } finally {
    first.removeEventListener('abort', notify);
    if (second.aborted) interruption.endProcess();
  }
}

async function deleteSandbox(sandbox: Sandbox, { stderr }: CliIo, interruption: Interruption): Promise<void> {
  try {
    await sandbox.delete({ signal: interruption.third, deadlineMs: deleteMs });
  } catch (error) {
    const reason =
      error instanceof CommandExit ? 'Interrupted.' : printable(error instanceof Error ? error.message : String(error));
    const advice = `Delete it with: mayfly rm ${sandbox.id}`;
    stderr.write(
      `Sandbox ${sandbox.id} was not deleted: ${reason} It keeps running${untilExpiry(sandbox)}. ${advice}\n`,
    );
  }
}

function untilExpiry({ expiresAt }: Sandbox): string {
  return expiresAt === null ? '' : ` until ${expiresAt.toISOString()}`;
}
