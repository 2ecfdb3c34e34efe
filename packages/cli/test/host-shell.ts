import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { resultOf, type StubApi, stubApi } from '../../sdk/test/stub-api.ts';

type LiveCommand = Parameters<StubApi['live']['onStart']>[0];

/** The whole API over stub machines, whose live commands are run by bash on this machine, in a folder that stands for the disk of the sandbox. */
export class HostShell implements AsyncDisposable {
  readonly api: StubApi;
  /** The working directory of commands. */
  readonly folder = mkdtempSync(join(tmpdir(), 'mayfly-shell-'));
  /** The commands that were started, oldest first. */
  readonly commands: LiveCommand[] = [];
  readonly #children = new Set<ChildProcess>();

  private constructor(api: StubApi) {
    this.api = api;
    api.live.onStart = (command) => this.#start(command);
  }

  static async start(): Promise<HostShell> {
    return new HostShell(await stubApi());
  }

  /** The environment of a `mayfly` command that uses this service. */
  get env(): NodeJS.ProcessEnv {
    return { MAYFLY_BASE_URL: this.api.url, MAYFLY_API_KEY: this.api.service.key, HOME: this.folder };
  }

  /** The ids of the sandboxes that exist. */
  async sandboxes(): Promise<string[]> {
    return (await this.api.client().sandboxes.list().all()).map(({ id }) => id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) killGroup(child, 'SIGKILL');
    await this.api[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #start(command: LiveCommand): void {
    this.commands.push(command);
    const { request } = command;
    const child = spawn('bash', ['-c', request.command], {
      cwd: request.cwd === '/workspace' ? this.folder : request.cwd,
      env: { ...process.env, ...request.env },
      detached: true,
      stdio: [request.stdin ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    });
    this.#children.add(child);
    child.stdin?.setMaxListeners(0).on('error', () => {});
    child.stdout?.on('data', (bytes: Buffer) => command.print('stdout', bytes));
    child.stderr?.on('data', (bytes: Buffer) => command.print('stderr', bytes));
    command.onStdin = async (bytes, close) => {
      const { stdin } = child;
      if (stdin === null || stdin.destroyed) return;
      if (bytes.length > 0 && !stdin.write(bytes)) {
        // A program that has ended does not read the rest.
        await Promise.race([once(stdin, 'drain'), once(stdin, 'close')]).catch(() => {});
      }
      if (close) stdin.end();
    };
    command.onSignal = (signal) => killGroup(child, signal);
    child.once('close', (code, signal) => {
      this.#children.delete(child);
      command.end(resultOf({ exitCode: code ?? 128 + constants.signals[signal ?? 'SIGKILL'] }));
    });
  }
}

function killGroup({ pid }: ChildProcess, signal: NodeJS.Signals | number): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // It has ended.
  }
}
