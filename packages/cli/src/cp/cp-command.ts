import type { Command } from 'commander';
import { type CliIo, usageFailure } from '../cli-io.ts';
import { Interruption } from '../interruption.ts';
import { printable, showJson } from '../output.ts';
import { addServiceOptions, clientOf, failureOf, type ServiceOptions } from '../service/client.ts';
import { findSandbox } from '../service/find-sandbox.ts';
import { download, downloadToStdout } from './download.ts';
import { type Location, parseLocation } from './location.ts';
import { type Copied, type Transfer, TransferProgress } from './transfer.ts';
import { upload, uploadStdin } from './upload.ts';

const help = `
SANDBOX:PATH is in a sandbox; relative paths are in /workspace. What is copied to an existing folder is copied into it; a source that ends with /.
copies the content of a folder. In the sandbox, missing folders are created. - is standard input or output, for a single file.

Examples:
  mayfly cp report.pdf web:/workspace/
  mayfly cp web:src ./src
  mayfly cp web:/var/log/syslog - | tail
`;

/** `mayfly cp`: files and folders into a sandbox or out of it. */
export function addCp(program: Command, io: CliIo): void {
  const command = program
    .command('cp')
    .argument('<source>', 'path on this machine, SANDBOX:PATH, or -')
    .argument('<destination>', 'path on this machine, SANDBOX:PATH, or -')
    .summary('copy files and folders into a sandbox, or out of it')
    .description('Copy a file or folder into a sandbox, or out of it, with modes and links, whatever its size.')
    .allowExcessArguments(false);
  addServiceOptions(command)
    .addHelpText('after', help)
    .action(async (source: string, destination: string, options: ServiceOptions) => {
      try {
        const copied = await copy(parseLocation(source), parseLocation(destination), options, io);
        if (options.json) io.stdout.write(showJson({ object: 'copy', source, destination, ...copied }));
      } catch (error) {
        throw failureOf(error);
      }
    });
}

async function copy(source: Location, destination: Location, options: ServiceOptions, io: CliIo): Promise<Copied> {
  const remote = source.where === 'sandbox' ? source : destination;
  const local = source.where === 'sandbox' ? destination : source;
  if (remote.where !== 'sandbox' || local.where === 'sandbox') {
    throw usageFailure('One of source and destination must be in a sandbox, like web:notes.txt, and the other here.');
  }
  if (options.json && destination.where === 'standard stream') {
    throw usageFailure(
      '--json prints to standard output, and so does the destination -. Name a file, or leave --json out.',
    );
  }
  const mayfly = clientOf(io, options);
  using interruption = new Interruption();
  using progress = new TransferProgress(io);
  const sandbox = await findSandbox(mayfly, remote.sandbox, { signal: interruption.first });
  const notice = (message: string) => io.stderr.write(`${printable(message)}\n`);
  const transfer: Transfer = { sandbox, stop: interruption.first, progress, notice };
  if (remote === source) {
    if (local.where === 'here') return await download(remote.path, local.path, transfer);
    return await downloadToStdout(remote.path, io, transfer);
  }
  if (local.where === 'here') return await upload(local.path, remote.path, transfer);
  return await uploadStdin(io.stdin, remote.path, transfer);
}
