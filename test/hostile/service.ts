import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Target } from '../support/http.ts';
import { type PreparedHost, preparedHost } from '../support/prepared.ts';
import { roomyWindows } from '../support/service.ts';

/** The service as a process that can be watched from outside. */
export class WatchedService implements Target {
  readonly url: string;
  readonly key: string;
  readonly #child: ChildProcess;
  readonly #dataDir: string;

  private constructor(child: ChildProcess, url: string, key: string, dataDir: string) {
    this.#child = child;
    this.url = url;
    this.key = key;
    this.#dataDir = dataDir;
  }

  static async start(templates: PreparedHost['templates']): Promise<WatchedService> {
    const dataDir = await mkdtemp(join(tmpdir(), 'mayfly-'));
    const key = 'mf_test_key_of_the_first_account';
    const env = {
      ...roomyWindows,
      MAYFLY_DATA_DIR: dataDir,
      MAYFLY_PORT: '0',
      MAYFLY_PREVIEW_PORT: '0',
      MAYFLY_BOOTSTRAP_API_KEY: key,
      MAYFLY_LOG_LEVEL: 'fatal',
      MAYFLY_POOL: 'none',
    };
    const script = new URL('./service-process.ts', import.meta.url);
    const child = fork(script, [JSON.stringify({ ...preparedHost(), templates })], {
      execArgv: ['--expose-gc'],
      env: { ...process.env, ...env },
    });
    const [url] = await once(child, 'message', { signal: AbortSignal.timeout(60_000) });
    return new WatchedService(child, String(url), key, dataDir);
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Resident memory after a garbage collection, in bytes. */
  async memoryBytes(): Promise<number> {
    const answer = once(this.#child, 'message', { signal: AbortSignal.timeout(60_000) });
    this.#child.send('memory');
    return Number((await answer)[0]);
  }

  /** The most memory it has held since the last call, in bytes. */
  async peakBytes(): Promise<number> {
    const status = await readFile(`/proc/${this.#child.pid}/status`, 'utf8');
    await writeFile(`/proc/${this.#child.pid}/clear_refs`, '5');
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
  }

  /** User and system time it has taken, in milliseconds. */
  async cpuMs(): Promise<number> {
    const stat = await readFile(`/proc/${this.#child.pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }

  async stop(): Promise<void> {
    if (this.isAlive) {
      const exit = once(this.#child, 'exit');
      this.#child.send('stop');
      await exit;
    }
    await rm(this.#dataDir, { recursive: true, force: true });
  }
}
