import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { serviceFolders } from '../../src/confinement/spec.ts';
import type { Log } from '../../src/core/ports/runtime.ts';
import { withDeadline } from '../../src/core/scheduling/deadline.ts';
import { RemoteDriver } from '../../src/machines/remote/remote-driver.ts';
import type { PreparedMachines } from '../../src/supervisor/processes.ts';

/** A service in processes of its own that accepts requests. */
export interface StartedService {
  /** Of the API, without a trailing slash. */
  readonly url: string;
  readonly child: ChildProcess;
  /** Sends the signal and waits until the process has ended. */
  readonly end: (signal: NodeJS.Signals) => Promise<void>;
}

/** A supervisor of the host process alone, whose machines another process uses. */
export interface StartedHost {
  readonly child: ChildProcess;
  /** The service's part of the data folder. */
  readonly serviceDir: string;
  /** Connects to the host process. */
  readonly openDriver: (log: Log) => Promise<RemoteDriver>;
  /** Stops the host process. Its machines keep running. */
  readonly stop: () => Promise<void>;
}

/** Takes the lines that a supervisor and its processes write to standard error. */
type TakeLine = (line: string) => void;

const supervisedScript = join(import.meta.dirname, 'run-supervised.ts');

/** Runs supervisor, host process and service as npm start does. SIGTERM stops them; SIGINT destroys their machines as well. */
export function startSupervised(
  machines: PreparedMachines,
  settings: Readonly<NodeJS.ProcessEnv>,
  takeLine?: TakeLine,
): Promise<StartedService> {
  return startGreeting(supervisedScript, machines, settings, takeLine);
}

/** Runs a script that starts a service, and waits for the greeting. */
export async function startGreeting(
  script: string,
  machines: PreparedMachines,
  settings: Readonly<NodeJS.ProcessEnv>,
  takeLine?: TakeLine,
): Promise<StartedService> {
  const child = spawnScript([script, JSON.stringify(machines)], settings, takeLine);
  return { url: await untilGreeted(child), child, end: (signal) => end(child, signal) };
}

/** Runs supervisor and host process, for a service in this process. */
export function startHost(
  machines: PreparedMachines,
  settings: Readonly<NodeJS.ProcessEnv>,
  takeLine?: TakeLine,
): StartedHost {
  const child = spawnScript([supervisedScript, JSON.stringify(machines), 'host'], settings, takeLine);
  child.stdout.resume();
  const { serviceDir, runDir } = serviceFolders(settings.MAYFLY_DATA_DIR ?? '');
  const exited = once(child, 'exit').then(() => {
    throw new Error('The host process exited before it was ready.');
  });
  exited.catch(() => {});
  return {
    child,
    serviceDir,
    openDriver: (log) => Promise.race([RemoteDriver.open({ runDir, log }), exited]),
    stop: () => end(child, 'SIGTERM'),
  };
}

/** If this process dies, SIGINT makes the script stop and destroy its machines. */
function spawnScript(
  args: readonly string[],
  settings: Readonly<NodeJS.ProcessEnv>,
  takeLine: TakeLine = (line) => void process.stderr.write(`${line}\n`),
) {
  const argv = ['--pdeathsig=INT', process.execPath, '--disable-warning=ExperimentalWarning', ...args];
  const child = spawn('setpriv', argv, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...settings } });
  createInterface(child.stderr).on('line', takeLine);
  return child;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}

/** Waits for the URL in the greeting of a service. Fails if the process exits before. */
async function untilGreeted(child: ChildProcess & { readonly stdout: Readable }): Promise<string> {
  const url = Promise.withResolvers<string>();
  child.once('exit', (code, signal) => {
    url.reject(new Error(`The service exited before it was ready (${signal ?? `exit code ${code}`}).`));
  });
  createInterface(child.stdout).on('line', (line) => {
    const [, found] = /^ +API +(\S+)\/v1$/.exec(line) ?? [];
    if (found !== undefined) url.resolve(found);
  });
  return await withDeadline('the start of the service', 600_000, url.promise);
}
