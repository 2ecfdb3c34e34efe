import { setTimeout as sleep } from 'node:timers/promises';
import type { Sandbox } from '@mayfly/sdk';
import { type CliIo, Failure } from '../cli-io.ts';
import { failureOf } from '../service/client.ts';

const pollMs = 250;
/** How long a sandbox may take to go. After that the service is still at work on it, without anybody waiting. */
const goneMs = 300_000;

export interface DeleteOptions {
  readonly signal: AbortSignal;
  /** Whether to return only when the sandboxes are gone. */
  readonly wait: boolean;
}

/** Deletes sandboxes at once. Returns them; throws a Failure that names those that could not be deleted. */
export async function deleteSandboxes(
  sandboxes: readonly Sandbox[],
  { stderr }: CliIo,
  options: DeleteOptions,
): Promise<readonly Sandbox[]> {
  const results = await Promise.allSettled(sandboxes.map((sandbox) => deleteSandbox(sandbox, stderr, options)));
  options.signal.throwIfAborted();
  const failures = results.flatMap((result, index) =>
    result.status === 'rejected' ? [{ id: sandboxes[index]?.id, error: failureOf(result.reason) }] : [],
  );
  const [first] = failures;
  if (first === undefined) return sandboxes;
  if (!(first.error instanceof Failure)) throw first.error;
  const { message, exitCode, type, cause } = first.error;
  const ids = failures.map(({ id }) => id).join(', ');
  const deleted = sandboxes.length - failures.length;
  throw new Failure(`${deleted} of ${sandboxes.length} sandboxes were deleted, but not ${ids}: ${message}`, {
    exitCode,
    type,
    cause,
  });
}

async function deleteSandbox(
  sandbox: Sandbox,
  stderr: CliIo['stderr'],
  { signal, wait }: DeleteOptions,
): Promise<void> {
  if (sandbox.status === 'deleted') {
    stderr.write(`Sandbox ${sandbox.id} was already deleted.\n`);
    return;
  }
  await sandbox.delete({ signal });
  const giveUpAtMs = Date.now() + goneMs;
  for (;;) {
    const { status } = await sandbox.refresh({ signal });
    if (status === 'deleted' || !wait) return;
    if (Date.now() > giveUpAtMs) {
      throw new Failure(`Sandbox ${sandbox.id} is still ${status}. The service keeps trying.`);
    }
    await sleep(pollMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}
