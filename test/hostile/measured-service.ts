import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { GatewayLimits } from '#server/gateway/gateway-context.ts';
import type { ReadingLimits } from '#server/http/slow-readers.ts';
import type { Target } from '../support/api-requests.ts';
import { ServiceLog } from '../support/diagnosis/service-log.ts';
import { type PreparedHost, preparedHost } from '../support/prepared-host.ts';
import { takePeakBytes } from '../support/process-memory.ts';
import { testApiKey, unlimitedRates } from '../support/service-settings.ts';

/** What a suite may change of the service. */
export interface MeasuredOptions {
  readonly deadlines?: { readonly attachMs: number; readonly executeGraceMs: number };
  readonly readingLimits?: Partial<ReadingLimits>;
  readonly gatewayLimits?: Partial<GatewayLimits>;
}

interface Started {
  readonly url: string;
  readonly previewUrl: string;
}

/** A service in its own process, whose memory and CPU time can be measured. */
export class MeasuredService implements Target {
  readonly url: string;
  readonly key = testApiKey;
  /** The port of the previews. */
  readonly previewPort: number;
  readonly #child: ChildProcess;
  readonly #dataDir: string;
  readonly #log: ServiceLog;

  private constructor(child: ChildProcess, started: Started, dataDir: string, log: ServiceLog) {
    this.#child = child;
    this.url = started.url;
    this.previewPort = Number(new URL(started.previewUrl.replace('*', 'x')).port);
    this.#dataDir = dataDir;
    this.#log = log;
  }

  static async start(templates: PreparedHost['templates'], options: MeasuredOptions = {}): Promise<MeasuredService> {
    const dataDir = await mkdtemp(join(tmpdir(), 'mayfly-'));
    const env = {
      ...unlimitedRates,
      MAYFLY_DATA_DIR: dataDir,
      MAYFLY_PORT: '0',
      MAYFLY_PREVIEW_PORT: '0',
      MAYFLY_BOOTSTRAP_API_KEY: testApiKey,
      // A line for each request of a flood would be part of what is measured.
      MAYFLY_LOG_LEVEL: 'error',
      MAYFLY_POOL: 'none',
    };
    const script = new URL('./run-measured-service.ts', import.meta.url);
    const child = fork(script, [JSON.stringify({ ...preparedHost(), templates }), JSON.stringify(options)], {
      execArgv: ['--expose-gc'],
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
      env: { ...process.env, ...env },
    });
    const log = new ServiceLog({ dataDir, printedLevel: 'fatal' });
    if (child.stderr) createInterface(child.stderr).on('line', log.write);
    const [started] = await once(child, 'message', { signal: AbortSignal.timeout(60_000) });
    return new MeasuredService(child, started as Started, dataDir, log);
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Resident memory after a garbage collection, in bytes. */
  async memoryBytes(): Promise<number> {
    return Number(await this.#ask('memory'));
  }

  /** The longest time since the last call for which the service held its event loop, in milliseconds of CPU time of the reference machine. */
  async longestTurnMs(): Promise<number> {
    return Number(await this.#ask('longestTurnMs'));
  }

  /** The same service, used by another account. */
  async newAccount(): Promise<Target> {
    return { url: this.url, key: String(await this.#ask('account')) };
  }

  async #ask(question: string): Promise<unknown> {
    const reply = once(this.#child, 'message', { signal: AbortSignal.timeout(60_000) });
    this.#child.send(question);
    return (await reply)[0];
  }

  /** Peak resident memory since the last call, in bytes. */
  peakBytes(): Promise<number> {
    return takePeakBytes(Number(this.#child.pid));
  }

  /** User and system CPU time, in milliseconds. */
  async cpuMs(): Promise<number> {
    const stat = await readFile(`/proc/${this.#child.pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }

  async stop(): Promise<void> {
    this.#log.keepConsoles();
    if (this.isAlive) {
      const exit = once(this.#child, 'exit');
      this.#child.send('stop');
      await exit;
    }
    await rm(this.#dataDir, { recursive: true, force: true });
  }
}
