import { setTimeout as sleep } from 'node:timers/promises';
import type { Sandbox } from '@mayfly/sdk';
import { type CliIo, Failure } from '../cli-io.ts';
import { errorBody, failureOf } from '../service/client.ts';
import { apiList } from '../service/service-command.ts';
import { sandboxJson } from './show.ts';

/** How often it is asked whether a sandbox is gone: less and less. */
const firstPollMs = 250;
const longestPollMs = 4_000;
/** How long a sandbox may take to go. After that the service is still at work on it, without anybody waiting. */
const goneMs = 300_000;

export interface DeleteOptions {
  readonly signal: AbortSignal;
  /** Whether to return only when the sandboxes are gone. */
  readonly wait: boolean;
}

/** What became of sandboxes that were to be deleted. */
export interface Deletion {
  readonly sandboxes: readonly Sandbox[];
  readonly failures: readonly { readonly id: string; readonly failure: Failure }[];
}

/** Deletes sandboxes at once. Returns those that were deleted, and why the others were not. */
export async function deleteSandboxes(
  sandboxes: readonly Sandbox[],
  { stderr }: CliIo,
  options: DeleteOptions,
): Promise<Deletion> {
  const results = await Promise.all(
    sandboxes.map(async (sandbox) => {
      try {
        await deleteSandbox(sandbox, stderr, options);
        return { sandbox };
      } catch (error) {
        const failure = failureOf(error);
        if (!(failure instanceof Failure)) throw error;
        return { sandbox, failure };
      }
    }),
  );
  options.signal.throwIfAborted();
  return {
    sandboxes: results.flatMap(({ sandbox, failure }) => (failure ? [] : [sandbox])),
    failures: results.flatMap(({ sandbox: { id }, failure }) => (failure ? [{ id, failure }] : [])),
  };
}

/** The sandboxes that were deleted as the API sends them, and the errors of the others if there are any. */
export function deletionJson({ sandboxes, failures }: Deletion): unknown {
  const errors = failures.map(({ id, failure }) => ({ sandbox_id: id, ...errorBody(failure).error }));
  return { ...apiList(sandboxes.map(sandboxJson)), ...(errors.length > 0 && { errors }) };
}

/** Throws a Failure that names the sandboxes that could not be deleted. */
export function requireAllDeleted({ sandboxes, failures }: Deletion): void {
  const [first] = failures;
  if (first === undefined) return;
  const { message, exitCode, type, cause } = first.failure;
  const ids = failures.map(({ id }) => id).join(', ');
  const total = sandboxes.length + failures.length;
  throw new Failure(`${sandboxes.length} of ${total} sandboxes were deleted, but not ${ids}: ${message}`, {
    exitCode,
    type,
    cause,
    isInResult: true,
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
  for (let pollMs = firstPollMs; ; pollMs = Math.min(pollMs * 2, longestPollMs)) {
    const { status } = await sandbox.refresh({ signal });
    if (status === 'deleted' || !wait) return;
    if (Date.now() > giveUpAtMs) {
      throw new Failure(`Sandbox ${sandbox.id} is still ${status}. The service keeps trying.`);
    }
    await sleep(pollMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}
