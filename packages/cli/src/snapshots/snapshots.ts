import { formatBytes } from '@mayfly/contract';
import { type Snapshot, toApi } from '@mayfly/sdk';
import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { finishOrDelete } from '../interruption.ts';
import { formatDuration } from '../numbers.ts';
import { type Column, fields, list, type Screen } from '../output.ts';
import { sandboxArgument } from '../sandboxes/show.ts';
import { addGroup, addServiceCommand, apiList } from '../service/service-command.ts';
import { findSnapshot } from './find-snapshot.ts';

interface SnapshotOptions {
  readonly name?: string;
  readonly alias?: string;
}

/** `mayfly snapshot` and `mayfly snapshots …` */
export function addSnapshots(program: Command, io: CliIo): void {
  addServiceCommand<[string], SnapshotOptions, Snapshot>(program, io, {
    name: 'snapshot',
    arguments: [sandboxArgument],
    summary: 'save a sandbox as it is, with its memory, and print the id of the snapshot',
    details: 'The sandbox is paused for a moment and keeps running.',
    examples: ['mayfly snapshot build --alias build-env', 'mayfly create --template build-env'],
    interruption: { notice: 'Interrupted: waiting for the snapshot, to delete it. Press Ctrl-C again to keep it.' },
    progress: 'Saving the sandbox …',
    options: (command) =>
      command
        .option('--name <name>', 'a label of your choice')
        .option('--alias <alias>', 'a name by which `create --template` finds it, unique within the account'),
    act: async ({ mayfly, signal, find }, { name, alias }, text) => {
      const sandbox = await find(text);
      const options = { ...(name !== undefined && { name }), ...(alias !== undefined && { alias }) };
      return await finishOrDelete(sandbox.snapshot(options), signal, {
        made: ({ id }) => [{ id, delete: () => mayfly.snapshots.delete(id) }],
        command: 'mayfly snapshots rm',
      });
    },
    json: toApi,
    show: showSnapshot,
  });

  const snapshots = addGroup(program, 'snapshots', 'list and delete snapshots');

  addServiceCommand<[], unknown, readonly Snapshot[]>(snapshots, io, {
    name: 'ls',
    isDefault: true,
    summary: 'list your snapshots, newest first',
    act: ({ mayfly, signal }) => mayfly.snapshots.list({ signal }).all(),
    json: (list) => apiList(toApi(list) as readonly unknown[]),
    show: (all, screen) => list(all, columnsAt(screen), screen),
  });

  addServiceCommand<[readonly string[]], unknown, readonly Snapshot[]>(snapshots, io, {
    name: 'rm',
    arguments: [['<snapshots...>', 'their whole ids or aliases']],
    summary: 'delete snapshots',
    details: 'Sandboxes that were made from them keep running. If one of several is not found, none is deleted.',
    act: async ({ mayfly, signal }, _options, texts) => {
      const found = await Promise.all([...new Set(texts)].map((text) => findSnapshot(mayfly, text, signal)));
      for (const { id } of found) await mayfly.snapshots.delete(id, { signal });
      return found;
    },
    json: (deleted) => ({ object: 'list', data: deleted.map(({ id }) => ({ object: 'snapshot', id, deleted: true })) }),
    show: (deleted) => deleted.map(({ id }) => `${id}\n`).join(''),
  });
}

function showSnapshot({ id, name, alias, size, bytes }: Snapshot, screen: Screen): string {
  if (!screen.isTerminal) return `${id}\n`;
  return fields(
    {
      Snapshot: id,
      ...(name !== null && { Name: name }),
      ...(alias !== null && { Alias: alias }),
      Size: size,
      Stored: formatBytes(bytes),
    },
    screen,
  );
}

function columnsAt({ nowMs }: Screen): readonly Column<Snapshot>[] {
  return [
    { heading: 'ID', value: ({ id }) => id },
    { heading: 'ALIAS', value: ({ alias }) => alias ?? '-', exact: ({ alias }) => alias ?? '', isFlexible: true },
    { heading: 'NAME', value: ({ name }) => name ?? '-', exact: ({ name }) => name ?? '', isFlexible: true },
    { heading: 'STATUS', value: ({ status }) => status },
    { heading: 'SIZE', value: ({ size }) => size },
    { heading: 'STORED', value: ({ bytes }) => formatBytes(bytes), exact: ({ bytes }) => String(bytes) },
    {
      heading: 'AGE',
      value: ({ createdAt }) => formatDuration(nowMs - createdAt.getTime()),
      exact: ({ createdAt }) => createdAt.toISOString(),
    },
  ];
}
