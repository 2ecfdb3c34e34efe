import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { withDeadline } from '../../src/core/scheduling/deadline.ts';
import type { PreparedMachines } from '../../src/supervisor/processes.ts';

/** A service in processes of its own that accepts requests. */
export interface StartedService {
  /** Of the API, without a trailing slash. */
  readonly url: string;
  readonly child: ChildProcess;
  /** Sends the signal and waits until the process has ended. */
  readonly end: (signal: NodeJS.Signals) => Promise<void>;
}

/** Runs supervisor, host process and service as npm start does. SIGTERM stops them; SIGINT destroys their machines as well. */
export function startSupervised(
  machines: PreparedMachines,
  settings: Readonly<NodeJS.ProcessEnv>,
): Promise<StartedService> {
  return startGreeting(join(import.meta.dirname, 'run-supervised.ts'), machines, settings);
}

/** Runs a script that starts a service, and waits for the greeting. */
export async function startGreeting(
  script: string,
  machines: PreparedMachines,
  settings: Readonly<NodeJS.ProcessEnv>,
): Promise<StartedService> {
  const argv = ['--disable-warning=ExperimentalWarning', script, JSON.stringify(machines)];
  const child = spawn(process.execPath, argv, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...settings },
  });
  return {
    url: await untilGreeted(child),
    child,
    end: async (signal) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill(signal);
      await exited;
    },
  };
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
