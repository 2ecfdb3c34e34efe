// A service that was taken over: sends hostile messages to the host process of its data folder. Takes its task as JSON in its first argument and
// prints a report. It is started exactly as the service is, so it uses only files that the service sees.

import { hostSocketPath } from '../../src/machines/protocol/run-folder.ts';
import { connectOnce } from '../../src/system/unix-sockets.ts';
import { Attacker, type AttackReport } from './attacker.ts';
import { RawService } from './host-lab.ts';
import { type Hostility, hostileMessages } from './hostile-messages.ts';

export interface FloodTask extends Hostility {
  readonly runDir: string;
  readonly count: number;
  readonly seed: number;
  /** How many connections it opens at first that say nothing. */
  readonly silentConnections: number;
}

export interface FloodReport extends AttackReport {
  readonly seconds: number;
  /** What became of the silent connections: refused at once, or accepted and closed later. */
  readonly silent: { readonly refused: number; readonly closed: number };
}

/** Real machines take longer than stubs. */
const longestWaitMs = 300_000;

const task = JSON.parse(process.argv[2] ?? '') as FloodTask;
const connect = async (): Promise<RawService> =>
  new RawService(await connectOnce(hostSocketPath(task.runDir)), longestWaitMs);

const messages = hostileMessages(task.count, task.seed, task);
const startedAtMs = performance.now();
const silent = await Promise.allSettled(Array.from({ length: task.silentConnections }, connect));
const accepted = silent.flatMap((connection) => (connection.status === 'fulfilled' ? [connection.value] : []));
await Promise.all(accepted.map((connection) => connection.closed()));
const attacker = new Attacker(connect);
for (const message of messages) await attacker.send(message);
const report: FloodReport = {
  ...attacker.report(),
  seconds: (performance.now() - startedAtMs) / 1_000,
  silent: { refused: silent.length - accepted.length, closed: accepted.length },
};
process.stdout.write(`${JSON.stringify(report)}\n`);
process.exit(0);
