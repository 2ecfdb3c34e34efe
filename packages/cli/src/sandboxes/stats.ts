import { formatBytes } from '@mayfly/contract';
import { type Stats, toApi } from '@mayfly/sdk';
import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { formatDuration } from '../numbers.ts';
import { fields } from '../output.ts';
import { addServiceCommand } from '../service/service-command.ts';
import { sandboxArgument } from './show.ts';

/** `mayfly stats` */
export function addStats(program: Command, io: CliIo): void {
  addServiceCommand<[string], unknown, Stats>(program, io, {
    name: 'stats',
    arguments: [sandboxArgument],
    summary: 'show what a sandbox uses at this moment',
    act: async ({ signal, find }, _options, text) => (await find(text)).stats({ signal }),
    json: toApi,
    show: ({ sandboxId, cpu, memory, disk, network, processes, uptimeMs }, screen) =>
      fields(
        {
          Sandbox: sandboxId,
          CPU: `${cpu.percent}% of ${cpu.count * 100}%`,
          Memory: `${formatBytes(memory.usedBytes)} of ${formatBytes(memory.totalBytes)}`,
          Disk: `${formatBytes(disk.usedBytes)} of ${formatBytes(disk.totalBytes)}`,
          Network: `${formatBytes(network.receivedBytes)} received, ${formatBytes(network.sentBytes)} sent`,
          Processes: String(processes),
          Uptime: formatDuration(uptimeMs),
        },
        screen,
      ),
  });
}
