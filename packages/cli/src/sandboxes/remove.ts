import type { Sandbox } from '@mayfly/sdk';
import type { Command } from 'commander';
import { type CliIo, usageFailure } from '../cli-io.ts';
import { formatDuration, parseDuration } from '../numbers.ts';
import { confirm } from '../prompt.ts';
import { addServiceCommand } from '../service/service-command.ts';
import { type Deletion, deleteSandboxes, deletionJson, requireAllDeleted } from './delete.ts';
import { showSandboxes } from './show.ts';

interface RemoveOptions {
  readonly all?: true;
  readonly yes?: true;
  readonly wait: boolean;
}

interface PruneOptions extends Omit<RemoveOptions, 'all'> {
  readonly olderThan?: string;
  readonly dryRun?: true;
}

/** `mayfly rm` and `mayfly prune` */
export function addRemove(program: Command, io: CliIo): void {
  addServiceCommand<[readonly string[]], RemoveOptions, Deletion>(program, io, {
    name: 'rm',
    arguments: [['[sandboxes...]', 'their whole ids or names']],
    summary: 'delete sandboxes',
    details:
      'Everything in them is lost. If one of several is not found, none is deleted. Prints the ids of the sandboxes when they are gone.',
    examples: ['mayfly rm build', 'mayfly rm --all --yes'],
    options: (command) => addDeleteOptions(command.option('--all', 'delete all sandboxes of the account')),
    act: async ({ mayfly, signal, find }, { all = false, yes = false, wait }, texts) => {
      if (all === texts.length > 0) throw usageFailure('Name the sandboxes, or pass --all.');
      const sandboxes = all
        ? await mayfly.sandboxes.list({ signal }).all()
        : await Promise.all([...new Set(texts)].map((text) => find(text, { exact: true })));
      if (all && sandboxes.length > 0) {
        await confirm(io, { question: `Delete ${countOf(sandboxes)} with everything inside?`, yes, signal });
      }
      return await deleteSandboxes(sandboxes, io, { signal, wait });
    },
    json: deletionJson,
    show: ({ sandboxes }) => idsOf(sandboxes),
    check: requireAllDeleted,
  });

  addServiceCommand<[], PruneOptions, Deletion>(program, io, {
    name: 'prune',
    summary: 'delete sandboxes that have failed, and old ones',
    details: 'Prints the ids of the sandboxes when they are gone.',
    examples: ['mayfly prune --dry-run', 'mayfly prune --older-than 2h --yes'],
    options: (command) =>
      addDeleteOptions(
        command
          .option('--older-than <duration>', 'also delete running sandboxes created before this time, e.g. 30m or 2h')
          .option('--dry-run', 'only show what would be deleted'),
      ),
    act: async ({ mayfly, signal }, { olderThan, dryRun = false, yes = false, wait }) => {
      const ageMs = olderThan === undefined ? undefined : parseDuration('--older-than', olderThan);
      const nowMs = io.nowMs?.() ?? Date.now();
      const all = await mayfly.sandboxes.list({ signal }).all();
      const sandboxes = all.filter((sandbox) => isPruned(sandbox, ageMs, nowMs));
      if (dryRun || sandboxes.length === 0) return { sandboxes, failures: [] };
      const older = ageMs === undefined ? '' : `, or older than ${formatDuration(ageMs)}`;
      const question = `Delete ${countOf(sandboxes)} (failed${older})?`;
      await confirm(io, { question, yes, signal });
      return await deleteSandboxes(sandboxes, io, { signal, wait });
    },
    json: deletionJson,
    show: ({ sandboxes }, screen) =>
      screen.isTerminal && sandboxes.length > 0 ? showSandboxes(sandboxes, screen) : idsOf(sandboxes),
    check: requireAllDeleted,
  });
}

/** Whether a sandbox has failed, or runs for longer than this. */
function isPruned({ status, info }: Sandbox, ageMs: number | undefined, nowMs: number): boolean {
  if (status === 'failed') return true;
  return status === 'running' && ageMs !== undefined && nowMs - info.createdAt.getTime() > ageMs;
}

function addDeleteOptions(command: Command): Command {
  return command.option('--yes', 'do not ask').option('--no-wait', 'do not wait until they are gone');
}

function idsOf(sandboxes: readonly Sandbox[]): string {
  return sandboxes.map(({ id }) => `${id}\n`).join('');
}

function countOf({ length }: readonly unknown[]): string {
  return length === 1 ? '1 sandbox' : `${length} sandboxes`;
}
