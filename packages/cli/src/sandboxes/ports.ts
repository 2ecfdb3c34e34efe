import { type Port, toApi } from '@mayfly/sdk';
import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { parseInteger } from '../numbers.ts';
import { list } from '../output.ts';
import { addGroup, addServiceCommand } from '../service/service-command.ts';
import { sandboxArgument } from './show.ts';

const portArgument = ['<port>', 'the port that a server in the sandbox listens on'] as const;

/** `mayfly port …` */
export function addPorts(program: Command, io: CliIo): void {
  const port = addGroup(program, 'port', 'open ports of a sandbox on public URLs').usage(
    '<sandbox> <port> | open|ls|close …',
  );

  addServiceCommand<[string, string], unknown, Port>(port, io, {
    name: 'open',
    isDefault: true,
    arguments: [sandboxArgument, portArgument],
    summary: 'open a port and print its URL',
    details: 'Everybody who has the URL can use it. `mayfly port SANDBOX PORT` does the same.',
    examples: ['mayfly port web 3000'],
    act: async ({ signal, find }, _options, text, portText) => {
      const number = portOf(portText);
      return await (await find(text)).ports.open(number, { signal });
    },
    json: toApi,
    show: ({ url }) => `${url}\n`,
  });

  addServiceCommand<[string], unknown, readonly Port[]>(port, io, {
    name: 'ls',
    arguments: [sandboxArgument],
    summary: 'list the open ports of a sandbox',
    act: async ({ signal, find }, _options, text) => (await find(text)).ports.list({ signal }),
    json: (ports) => ({ object: 'list', data: toApi(ports) }),
    show: (ports, screen) =>
      list(
        ports,
        [
          { heading: 'PORT', value: (one) => String(one.port) },
          { heading: 'URL', value: ({ url }) => url },
        ],
        screen,
      ),
  });

  addServiceCommand<[string, string], unknown, { readonly sandboxId: string; readonly port: number }>(port, io, {
    name: 'close',
    arguments: [sandboxArgument, ['<port>', 'the port to close']],
    summary: 'close a port',
    details: 'The server behind it keeps running.',
    act: async ({ signal, find }, _options, text, portText) => {
      const number = portOf(portText);
      const sandbox = await find(text);
      await sandbox.ports.close(number, { signal });
      return { sandboxId: sandbox.id, port: number };
    },
    json: (closed) => toApi({ object: 'port', ...closed, deleted: true }),
    show: (closed) => `${closed.port}\n`,
  });
}

function portOf(text: string): number {
  return parseInteger('port', text, 1, 65_535);
}
