import { setTimeout as pause } from 'node:timers/promises';
import { fixedLimits, formatBytes } from '@mayfly/contract';
import type { Command as Execution, ExecutionSummary, Mayfly } from '@mayfly/sdk';
import { NotFoundError, toApi } from '@mayfly/sdk';
import type { Command } from 'commander';
import { type CliIo, Failure } from '../cli-io.ts';
import { Interruption } from '../interruption.ts';
import { type Column, list, screenOf, showJson } from '../output.ts';
import { ConnectionNotice } from '../running/connection-notice.ts';
import { LiveOutput } from '../running/live-output.ts';
import { addServiceOptions, clientOf, failureOf, type ServiceOptions } from '../service/client.ts';
import { findSandbox } from '../service/find-sandbox.ts';
import { apiList } from '../service/service-command.ts';

type Options = ServiceOptions & { readonly follow?: true };

/** How long to wait for the output of a running command to begin, and after that for more, before it counts as read. */
export const firstOutputMs = 2_000;
export const nextOutputMs = 300;
/** How long the output of a running command is read at most, since one that prints all the time is never silent. */
export const wholeOutputMs = 10_000;

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

async function listCommands(mayfly: Mayfly, id: string, { json }: Options, io: CliIo): Promise<void> {
  const sandbox = await findSandbox(mayfly, id);
  const commands = (await sandbox.commands().all()).reverse();
  io.stdout.write(json ? showJson(apiList(commands.map(toApi))) : list(commands, columns, screenOf(io)));
}

const columns: readonly Column<ExecutionSummary>[] = [
  { heading: 'EXECUTION', value: ({ id }) => id },
  { heading: 'STATUS', value: ({ status }) => status },
  {
    heading: 'EXIT',
    value: ({ exitCode }) => exitCode?.toString() ?? '-',
    exact: ({ exitCode }) => exitCode?.toString() ?? '',
  },
  {
    heading: 'STARTED',
    value: ({ startedAt }) => startedAt?.toISOString() ?? '-',
    exact: ({ startedAt }) => startedAt?.toISOString() ?? '',
  },
  {
    heading: 'DURATION',
    value: ({ durationMs }) => (durationMs === null ? '-' : `${(durationMs / 1000).toFixed(1)} s`),
    exact: ({ durationMs }) => (durationMs === null ? '' : String(durationMs / 1000)),
  },
];

async function printOutput(execution: Execution, { follow, json }: Options, io: CliIo): Promise<void> {
  const { status } = await execution.info().catch((error: unknown) => {
    if (!(error instanceof NotFoundError)) throw error;
    const message = `There is no execution ${execution.id}. List the executions of a sandbox with: mayfly logs SANDBOX`;
    throw new Failure(message, { type: 'not_found' });
  });
  if (json) {
    if (follow) await execution.wait();
    io.stdout.write(showJson(toApi(await execution.info())));
    return;
  }
  using interruption = new Interruption();
  using output = new LiveOutput(io);
  using notice = new ConnectionNotice(io);
  const done = new AbortController();
  const signal = AbortSignal.any([interruption.first, output.broken, done.signal]);
  const reading = execution.output({ signal, onConnection: notice.onConnection });
  const isPart = status === 'running' && !follow;
  const stopAtMs = performance.now() + wholeOutputMs;
  let writtenBytes = 0;
  for (;;) {
    const next = reading.next();
    const waitMs = Math.min(writtenBytes === 0 ? firstOutputMs : nextOutputMs, stopAtMs - performance.now());
    const step = await (isPart ? Promise.race([next, silence(waitMs)]) : next);
    // The sandbox keeps no more than this, so everything that was printed before has been read.
    if (step === undefined || (isPart && !step.done && writtenBytes >= fixedLimits.spoolBytes)) {
      done.abort();
      await next.catch(() => {});
      const said = writtenBytes === 0 ? 'has printed nothing yet' : 'is running';
      io.stderr.write(`The command ${said}. Follow it with: mayfly logs -f ${execution.id}\n`);
      return;
    }
    if (step.done) {
      const { missedBytes } = step.value;
      if (missedBytes > 0) io.stderr.write(`${formatBytes(missedBytes)} of the output are not kept any more.\n`);
      return;
    }
    const { stream, bytes } = step.value;
    await output.write(stream, bytes);
    writtenBytes += bytes.length;
  }
}

/** Returns at once if there is no time left. */
async function silence(ms: number): Promise<undefined> {
  await pause(Math.max(ms, 0), undefined, { ref: false });
}
