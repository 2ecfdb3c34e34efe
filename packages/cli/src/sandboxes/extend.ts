import type { Sandbox } from '@mayfly/sdk';
import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { parseInteger } from '../numbers.ts';
import { addServiceCommand } from '../service/service-command.ts';
import { sandboxArgument, sandboxJson, showExpiry } from './show.ts';

/** `mayfly extend` */
export function addExtend(program: Command, io: CliIo): void {
  addServiceCommand<[string, string | undefined], unknown, Sandbox>(program, io, {
    name: 'extend',
    arguments: [sandboxArgument, ['[minutes]', 'how much later it expires (default: 15)']],
    summary: 'let a sandbox live longer and print when it expires',
    details: 'The service limits the whole lifetime, and shortens an extension that exceeds it.',
    examples: ['mayfly extend build 60'],
    act: async ({ signal, find }, _options, text, minutes) => {
      const additional = minutes === undefined ? undefined : parseInteger('minutes', minutes);
      const sandbox = await find(text);
      await sandbox.extend(additional, { signal });
      return sandbox;
    },
    json: sandboxJson,
    show: ({ expiresAt }, screen) => `${expiresAt === null ? '-' : showExpiry(expiresAt, screen)}\n`,
  });
}
