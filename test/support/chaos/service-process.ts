import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../free-port.ts';
import type { Target } from '../http.ts';
import { preparedHost } from '../prepared.ts';
import { roomyWindows } from '../service.ts';
import { holdingsOf } from './holdings.ts';

const startDeadlineMs = 60_000;
const stopDeadlineMs = 60_000;
const keptLogLines = 300;

/** A service with a data folder and a port of its own, in a process that can be killed and started again. */
export class ServiceProcess implements Target {
  readonly dataDir: string;
  readonly url: string;
  readonly key = 'mf_test_key_of_the_first_account';
  /** The ids of the machines whose launch was begun, by any of its runs. */
  readonly launched: string[] = [];
  readonly #env: Readonly<Record<string, string>>;
  readonly #log: string[] = [];
  #child: ChildProcess | undefined;
  #ready: Promise<void> = Promise.resolve();

  private constructor(dataDir: string, port: number, settings: Readonly<Record<string, string>>) {
    this.dataDir = dataDir;
    this.url = `http://127.0.0.1:${port}`;
    this.#env = {
      ...roomyWindows,
      MAYFLY_DATA_DIR: dataDir,
      MAYFLY_PORT: `${port}`,
      MAYFLY_PREVIEW_PORT: '0',
      MAYFLY_BOOTSTRAP_API_KEY: this.key,
      MAYFLY_LOG_LEVEL: 'warn',
      ...settings,
    };
  }

  /** Makes one and starts it. */
  static async create(settings: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> {
    const dataDir = await mkdtemp(join(tmpdir(), 'mayfly-'));
    const service = new ServiceProcess(dataDir, await freePort(), settings);
    await service.start();
    return service;
  }

  /** Of the run that is on. */
  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined || !this.#isRunning()) throw new Error('the service does not run');
    return pid;
  }

  /** The certificate of the authority that signs for its previews. */
  get previewRootFile(): string {
    return join(this.dataDir, 'preview-authority', 'root.crt');
  }

  /** What its runs said last. */
  get log(): string {
    return this.#log.join('\n');
  }

  /** Starts it and waits until it takes requests. */
  start(): Promise<void> {
    this.begin();
    return this.#ready;
  }

  /** Starts it without waiting. */
  begin(): void {
    const script = join(import.meta.dirname, 'service-child.ts');
    // It goes with its parent, and its machines with it.
    const args = ['--pdeathsig=INT', process.execPath, script, JSON.stringify(preparedHost())];
    const child = spawn('setpriv', args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...this.#env },
    });
    this.#child = child;
    createInterface(child.stderr).on('line', (line) => {
      this.#log.push(line);
      if (this.#log.length > keptLogLines) this.#log.shift();
    });
    this.#ready = this.#untilReady(child);
    this.#ready.catch(() => {});
  }

  /** kill -9. */
  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  /** An orderly stop; the machines stay alive. */
  leave(): Promise<void> {
    return this.#end('SIGTERM');
  }

  /** An orderly stop that ends the machines. */
  destroy(): Promise<void> {
    return this.#end('SIGINT');
  }

  /** Ends it with its machines and removes its data. */
  async remove(): Promise<void> {
    if (!this.#isRunning() && (await holdsSomething(this.dataDir))) await this.start().catch(() => {});
    await this.destroy().catch(() => this.kill());
    await rm(this.dataDir, { recursive: true, force: true });
  }

  #isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.#isRunning()) return;
    const ended = once(child, 'exit', { signal: AbortSignal.timeout(stopDeadlineMs) });
    child.kill(signal);
    await ended;
  }

  #untilReady(child: ChildProcess): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no start in time:\n${this.log}`)), startDeadlineMs);
      child.once('exit', (code, signal) => {
        clearTimeout(timer);
        reject(new Error(`the service ended (${code ?? signal}) before it was ready:\n${this.log}`));
      });
      if (child.stdout === null) return;
      createInterface(child.stdout).on('line', (line) => {
        const [event, id = ''] = line.split(' ');
        if (event === 'launched') this.launched.push(id);
        if (event !== 'ready') return;
        clearTimeout(timer);
        resolve();
      });
    });
  }
}

const holdsSomething = async (dataDir: string): Promise<boolean> =>
  Object.values(await holdingsOf(dataDir)).some((held) => held.length > 0);
