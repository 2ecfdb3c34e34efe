import { setTimeout as pause } from 'node:timers/promises';
import { formatBytes } from '@mayfly/contract';
import type { Command as Execution, ExecutionSummary, Mayfly } from '@mayfly/sdk';
import { NotFoundError, toApi } from '@mayfly/sdk';
import type { Command } from 'commander';
import { type CliIo, Failure } from '../cli-io.ts';
import { Interruption } from '../interruption.ts';
import { table } from '../output.ts';
import { ConnectionNotice } from '../running/connection-notice.ts';
import { LiveOutput } from '../running/live-output.ts';
import { addServiceOptions, clientOf, failureOf, type ServiceOptions } from '../service/client.ts';
import { findSandbox } from '../service/find-sandbox.ts';

type Options = ServiceOptions & { readonly follow?: true };

/** How long to wait for the output of a running command to begin, and after that for more, before it counts as read. */
const firstOutputMs = 2_000;
const nextOutputMs = 300;

const help = `
Examples:
  mayfly logs web
  mayfly logs -f exec_q2m7rk4t5x3vb6ynz7pahcdw
`;

/** `mayfly logs`: the commands of a sandbox, or the output of one. */
export function addLogs(program: Command, io: CliIo): void {
  const command = program
    .command('logs')
    .argument('<id>', 'a sandbox (id, name or beginning of the id), or the id of an execution')
    .summary('show the commands of a sandbox, or the output of one')
    .description('List the commands of a sandbox, newest last, or print the output of an execution.')
    .option('-f, --follow', 'go on printing while the command runs')
    .allowExcessArguments(false);
  addServiceOptions(command)
    .addHelpText('after', help)
    .action(async (id: string, options: Options) => {
      try {
        const mayfly = clientOf(io, options);
        if (id.startsWith('exec_')) await printOutput(mayfly.command(id), options, io);
        else await listCommands(mayfly, id, options, io);
      } catch (error) {
        throw failureOf(error);
      }
    });
}

async function listCommands(mayfly: Mayfly, id: string, { json }: Options, { stdout }: CliIo): Promise<void> {
  const sandbox = await findSandbox(mayfly, id);
  const commands = (await sandbox.commands().all()).reverse();
  stdout.write(json ? `${JSON.stringify(toApi(commands), null, 2)}\n` : show(commands));
}

function show(commands: readonly ExecutionSummary[]): string {
  const rows = commands.map(({ id, status, exitCode, startedAt, durationMs }) => [
    id,
    status,
    exitCode === null ? '-' : String(exitCode),
    startedAt?.toISOString() ?? '-',
    durationMs === null ? '-' : `${(durationMs / 1000).toFixed(1)} s`,
  ]);
  return table(['EXECUTION', 'STATUS', 'EXIT', 'STARTED', 'DURATION'], rows);
}

async function printOutput(execution: Execution, { follow, json }: Options, io: CliIo): Promise<void> {
  const { status } = await execution.info().catch((error: unknown) => {
    if (!(error instanceof NotFoundError)) throw error;
    const message = `There is no execution ${execution.id}. List those of a sandbox with: mayfly logs SANDBOX`;
    throw new Failure(message, { type: 'not_found' });
  });
  if (json) {
    if (follow) await execution.wait();
    io.stdout.write(`${JSON.stringify(toApi(await execution.info()), null, 2)}\n`);
    return;
  }
  using interruption = new Interruption();
  using output = new LiveOutput(io);
  using notice = new ConnectionNotice(io);
  const done = new AbortController();
  const signal = AbortSignal.any([interruption.first, output.broken, done.signal]);
  const reading = execution.output({ signal, onConnection: notice.onConnection });
  const untilSilent = status === 'running' && !follow;
  for (let waitMs = firstOutputMs; ; waitMs = nextOutputMs) {
    const next = reading.next();
    const step = await (untilSilent ? Promise.race([next, silence(waitMs)]) : next);
    if (step === undefined) {
      done.abort();
      await next.catch(() => {});
      return;
    }
    if (step.done) {
      const { missedBytes } = step.value;
      if (missedBytes > 0) io.stderr.write(`${formatBytes(missedBytes)} of the output are not kept any more.\n`);
      return;
    }
    await output.write(step.value.stream, step.value.bytes);
  }
}

async function silence(ms: number): Promise<undefined> {
  await pause(ms, undefined, { ref: false });
}
