import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from 'vitest';
import type { Target } from './api-requests.ts';
import { heldResources } from './chaos/held-resources.ts';
import { ServiceLog } from './diagnosis/service-log.ts';
import { signalProcess } from './machine-processes.ts';
import { preparedHost } from './prepared-host.ts';
import { freePort, testApiKey, unlimitedRates } from './service-settings.ts';
import { crash, type Supervised, supervisedBy } from './supervised-processes.ts';

const startDeadlineMs = 60_000;
const stopDeadlineMs = 60_000;
const keptLogLines = 300;

/** A service with its own data folder and port, run as npm start runs it, that can be killed and started again at the same URL. */
export class RestartableService implements Target {
  readonly dataDir: string;
  readonly url: string;
  readonly key = testApiKey;
  readonly #env: Readonly<Record<string, string>>;
  readonly #log: string[] = [];
  readonly #lines: ServiceLog;
  #child: ChildProcess | undefined;
  #ready: Promise<void> = Promise.resolve();

  private constructor(dataDir: string, port: number, settings: Readonly<Record<string, string>>) {
    this.dataDir = dataDir;
    this.url = `http://127.0.0.1:${port}`;
    const environment = {
      ...unlimitedRates,
      MAYFLY_DATA_DIR: dataDir,
      MAYFLY_PORT: `${port}`,
      MAYFLY_PREVIEW_PORT: '0',
      MAYFLY_BOOTSTRAP_API_KEY: this.key,
      MAYFLY_LOG_LEVEL: 'warn',
      ...settings,
    };
    const print = (line: string) => {
      this.#log.push(line);
      if (this.#log.length > keptLogLines) this.#log.shift();
    };
    this.#lines = new ServiceLog({ dataDir, printedLevel: environment.MAYFLY_LOG_LEVEL, print });
    this.#env = { ...environment, MAYFLY_LOG_LEVEL: this.#lines.level };
  }

  /** Creates a data folder and starts a service on it. */
  static async create(settings: Readonly<Record<string, string>> = {}): Promise<RestartableService> {
    const dataDir = await mkdtemp(join(tmpdir(), 'mayfly-'));
    const service = new RestartableService(dataDir, await freePort(), settings);
    await service.start();
    return service;
  }

  /** The pid of the service's own process. */
  get pid(): number {
    const { service } = this.processes;
    if (service === undefined) throw new Error('the service is not running');
    return service;
  }

  /** The host process and the service at this moment. */
  get processes(): Supervised {
    const pid = this.#child?.pid;
    return pid === undefined || !this.#isRunning() ? { host: undefined, service: undefined } : supervisedBy(pid);
  }

  /** Kills one of the two processes. The supervisor starts it again. */
  killOne(which: keyof Supervised): boolean {
    const pid = this.processes[which];
    return pid !== undefined && signalProcess(pid, 'SIGKILL');
  }

  /** Kills one or both of the processes, and waits until the service accepts requests again. */
  async killAndRecover(which: keyof Supervised | 'both'): Promise<void> {
    if (which === 'both') {
      await this.kill();
      await this.start();
      return;
    }
    expect(this.killOne(which)).toBe(true);
    const health = async () => (await fetch(`${this.url}/healthz`).catch(() => ({ status: 0 }))).status;
    await expect.poll(health).toBe(200);
  }

  /** Stops the supervisor for a while: what is killed meanwhile is started again only after the returned function was called. */
  pauseSupervisor(): () => void {
    const pid = this.#child?.pid ?? 0;
    signalProcess(pid, 'SIGSTOP');
    return () => void signalProcess(pid, 'SIGCONT');
  }

  /** Stops the host process until it is killed: no machine is started or ended meanwhile. */
  pauseHostProcess(): void {
    const { host } = this.processes;
    expect(host !== undefined && signalProcess(host, 'SIGSTOP')).toBe(true);
  }

  /** The SQLite file. */
  get databasePath(): string {
    return join(this.dataDir, 'service', 'mayfly.db');
  }

  /** The certificate of the authority that signs the certificates of previews (PEM). */
  get previewRootFile(): string {
    return join(this.dataDir, 'service', 'preview-authority', 'root.crt');
  }

  /** The last lines of the log, over all restarts. */
  get log(): string {
    return this.#log.join('\n');
  }

  /** Starts the service and waits until it accepts requests. */
  start(): Promise<void> {
    this.startWithoutWaiting();
    return this.#ready;
  }

  startWithoutWaiting(): void {
    const script = join(import.meta.dirname, '../../packages/server/test/supervisor/run-supervised.ts');
    // If the test process dies, the service stops and destroys its machines.
    const args = ['--pdeathsig=INT', process.execPath, script, JSON.stringify(preparedHost())];
    const child = spawn('setpriv', args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...this.#env },
    });
    this.#child = child;
    createInterface(child.stderr).on('line', this.#lines.write);
    this.#ready = this.#untilReady(child);
    this.#ready.catch(() => {});
  }

  /** Kills supervisor, host process and service with SIGKILL. The machines keep running. */
  async kill(): Promise<void> {
    if (this.#child !== undefined) await crash(this.#child);
  }

  /** Stops the service in order. Its machines keep running. */
  detach(): Promise<void> {
    return this.#end('SIGTERM');
  }

  /** Stops the service and destroys its machines. */
  destroy(): Promise<void> {
    this.#lines.keepConsoles();
    return this.#end('SIGINT');
  }

  /** Stops the service, destroys its machines and removes its data. */
  async remove(): Promise<void> {
    if (!this.#isRunning() && (await holdsResources(this.dataDir))) await this.start().catch(() => {});
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
      const timer = setTimeout(
        () => reject(new Error(`the service did not start in time:\n${this.log}`)),
        startDeadlineMs,
      );
      child.once('exit', (code, signal) => {
        clearTimeout(timer);
        reject(new Error(`the service exited (${code ?? signal}) before it was ready:\n${this.log}`));
      });
      if (child.stdout === null) return;
      createInterface(child.stdout).on('line', (line) => {
        if (!line.startsWith('Mayfly is ready')) return;
        clearTimeout(timer);
        resolve();
      });
    });
  }
}

async function holdsResources(dataDir: string): Promise<boolean> {
  return Object.values(await heldResources(dataDir)).some((held) => held.length > 0);
}
