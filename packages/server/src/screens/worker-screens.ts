import { Worker } from 'node:worker_threads';
import type { Screen, Screens, TerminalSize } from '../core/ports/screens.ts';
import { type Answer, type Request, resizeBytes, type WorkerSettings } from './messages.ts';
import { Tail } from './tail.ts';

/** How much raw output is kept of each screen. */
export const tailBytes = 64 * 1024;

/** How much output of one screen may wait for the worker: more than the agent keeps, all of which comes at once after a restart of the service. */
const maxUnprocessedBytes = 1280 * 1024;

/** Limits the heap of the worker. Rows of cells are outside of it; the emulator limits their number. */
const maxHeapMb = 256;

const maxCrashes = 5;
const crashWindowMs = 60_000;

interface ScreensOptions {
  /** How long a screen is waited for before its raw output is shown instead. */
  readonly showTimeoutMs?: number;
  /** A worker that has work but reports no progress for so long is replaced. */
  readonly stallTimeoutMs?: number;
  /** The CPU time that 4 KiB of output may cost. A screen that needs more is shown as raw output from then on. */
  readonly maxTurnCpuMs?: number;
  /** Called with each worker that is started. For tests. */
  readonly onWorkerStarted?: (worker: Worker) => void;
}

const defaults = { showTimeoutMs: 5000, stallTimeoutMs: 30_000, maxTurnCpuMs: 500, onWorkerStarted: () => undefined };

/**
 * Keeps screens with terminal emulators in a worker thread, which starts with the first screen. A screen that the emulator cannot handle is
 * *plain*: it shows the last of its raw output.
 */
export function createScreens(options: ScreensOptions = {}): Screens {
  return new WorkerScreens({ ...defaults, ...options });
}

interface PendingShow {
  readonly screen: WorkerScreen;
  readonly resolve: (bytes: Uint8Array) => void;
  /** The raw output at the time of the call. */
  readonly fallback: Uint8Array;
  readonly timer: NodeJS.Timeout;
}

/** A worker, and the integer that says which screen it works on. */
interface Emulation {
  readonly worker: Worker;
  readonly currentId: Int32Array;
}

class WorkerScreens implements Screens {
  readonly #options: Required<ScreensOptions>;
  readonly #screens = new Map<number, WorkerScreen>();
  readonly #shows = new Map<number, PendingShow>();
  #emulation: Emulation | undefined;
  #stallTimer: NodeJS.Timeout | undefined;
  /** Times of the last crashes, in milliseconds of the monotonic clock. */
  #crashes: number[] = [];
  #lastId = 0;
  #lastShow = 0;
  #isDisposed = false;

  constructor(options: Required<ScreensOptions>) {
    this.#options = options;
  }

  open(size: TerminalSize): Screen {
    this.#lastId++;
    const screen = new WorkerScreen(this.#lastId, size, this);
    if (this.#isDisposed) return screen;
    this.#screens.set(screen.id, screen);
    if (this.#emulation === undefined && this.#crashes.length === 0) this.#start();
    if (this.#emulation !== undefined) screen.emulate();
    return screen;
  }

  close(screen: WorkerScreen): void {
    this.#screens.delete(screen.id);
    for (const [show, pending] of this.#shows) if (pending.screen === screen) this.#answer(show, undefined);
    this.send({ kind: 'close', id: screen.id });
  }

  send(request: Request): void {
    this.#emulation?.worker.postMessage(request, request.kind === 'write' ? [request.bytes.buffer] : []);
    const isAnswered = request.kind === 'write' || request.kind === 'show';
    if (isAnswered && this.#stallTimer === undefined) this.#watch();
  }

  show(screen: WorkerScreen, fallback: Uint8Array): Promise<Uint8Array> {
    this.#lastShow++;
    const show = this.#lastShow;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#answer(show, undefined), this.#options.showTimeoutMs);
      this.#shows.set(show, { screen, resolve, fallback, timer });
      this.send({ kind: 'show', id: screen.id, show });
    });
  }

  #answer(show: number, bytes: Uint8Array | undefined): void {
    const pending = this.#shows.get(show);
    if (pending === undefined) return;
    this.#shows.delete(show);
    clearTimeout(pending.timer);
    pending.resolve(bytes ?? pending.fallback);
  }

  #answerAll(): void {
    for (const show of this.#shows.keys()) this.#answer(show, undefined);
  }

  /** Starts a worker, unless the last ones kept crashing. */
  #start(): void {
    const windowStart = performance.now() - crashWindowMs;
    this.#crashes = this.#crashes.filter((time) => time > windowStart);
    if (this.#crashes.length >= maxCrashes) return;
    const current = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    const worker = new Worker(new URL('./screen-worker.ts', import.meta.url), {
      workerData: { current, maxTurnCpuMs: this.#options.maxTurnCpuMs } satisfies WorkerSettings,
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
    });
    worker.unref();
    const emulation = { worker, currentId: new Int32Array(current) };
    this.#emulation = emulation;
    worker.on('message', (answer: Answer) => this.#receive(answer));
    // Without a listener the error would end the process. The exit follows.
    worker.on('error', () => undefined);
    worker.on('exit', () => this.#restart(emulation));
    this.#options.onWorkerStarted(worker);
  }

  /** Replaces a worker that has ended. The screen that it ended with becomes plain, the others are restored from their tails. */
  #restart(ended: Emulation): void {
    if (this.#emulation !== ended) return;
    this.#emulation = undefined;
    this.#stopWatching();
    this.#crashes.push(performance.now());
    this.#answerAll();
    this.#screens.get(Atomics.load(ended.currentId, 0))?.giveUp();
    this.#emulateAll();
  }

  /** Starts a worker for all screens. If the last ones kept crashing, the screens are plain until that is some time ago. */
  #emulateAll(): void {
    if (this.#isDisposed || this.#emulation !== undefined) return;
    this.#start();
    for (const screen of this.#screens.values()) {
      if (this.#emulation === undefined) screen.becomePlain();
      else screen.emulate();
    }
    if (this.#emulation === undefined) setTimeout(() => this.#emulateAll(), crashWindowMs).unref();
  }

  #receive(answer: Answer): void {
    switch (answer.kind) {
      case 'processed':
        this.#screens.get(answer.id)?.processed(answer.bytes);
        break;
      case 'shown':
        this.#answer(answer.show, answer.bytes);
        break;
      case 'given-up':
        this.#screens.get(answer.id)?.giveUp();
        break;
    }
    this.#watch();
  }

  /** Ends a worker that stays busy without any report: an escape sequence may hang the emulator in a way that nobody knows yet. */
  #watch(): void {
    this.#stopWatching();
    const isBusy = this.#shows.size > 0 || [...this.#screens.values()].some((screen) => screen.isWaiting);
    if (this.#emulation === undefined || !isBusy) return;
    const { worker } = this.#emulation;
    this.#stallTimer = setTimeout(() => void worker.terminate(), this.#options.stallTimeoutMs).unref();
  }

  #stopWatching(): void {
    clearTimeout(this.#stallTimer);
    this.#stallTimer = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    const emulation = this.#emulation;
    this.#emulation = undefined;
    this.#stopWatching();
    this.#answerAll();
    for (const screen of this.#screens.values()) screen.becomePlain();
    this.#screens.clear();
    await emulation?.worker.terminate();
  }
}

class WorkerScreen implements Screen {
  readonly id: number;
  readonly #screens: WorkerScreens;
  readonly #tail = new Tail(tailBytes);
  #size: TerminalSize;
  #isPlain = true;
  #isGivenUp = false;
  #unprocessedBytes = 0;
  /** Output that was not sent because too much was waiting. */
  #withheldBytes = 0;
  /** Whether a change of the size was not sent because too much was waiting. */
  #mustRebuild = false;

  constructor(id: number, size: TerminalSize, screens: WorkerScreens) {
    this.id = id;
    this.#size = size;
    this.#screens = screens;
  }

  /** Whether the worker still has output of this screen to process. */
  get isWaiting(): boolean {
    return !this.#isPlain && this.#unprocessedBytes > 0;
  }

  write(bytes: Uint8Array): void {
    this.#tail.push(bytes);
    if (this.#isPlain || bytes.length === 0) return;
    const exceedsLimit = this.#unprocessedBytes + bytes.length > maxUnprocessedBytes;
    if (this.#withheldBytes > 0 || exceedsLimit) {
      this.#withheldBytes += bytes.length;
      if (this.#unprocessedBytes === 0) this.#catchUp();
    } else {
      this.#send(new Uint8Array(bytes));
    }
  }

  resize(size: TerminalSize): void {
    this.#size = size;
    if (this.#isPlain) return;
    if (this.#withheldBytes > 0 || this.#unprocessedBytes > maxUnprocessedBytes) {
      this.#mustRebuild = true;
      return;
    }
    this.#unprocessedBytes += resizeBytes;
    this.#screens.send({ kind: 'resize', id: this.id, size });
  }

  reset(size: TerminalSize): void {
    this.#size = size;
    this.#tail.clear();
    this.#withheldBytes = 0;
    this.#mustRebuild = false;
    if (!this.#isPlain) this.#screens.send({ kind: 'open', id: this.id, size });
  }

  async show(): Promise<Uint8Array> {
    const fallback = this.#tail.text();
    if (this.#isPlain) return fallback;
    this.#catchUp();
    return this.#screens.show(this, fallback);
  }

  /** A new worker knows nothing of this screen. */
  emulate(): void {
    if (this.#isGivenUp) return;
    this.#isPlain = false;
    this.#unprocessedBytes = 0;
    this.#withheldBytes = 0;
    this.#mustRebuild = false;
    this.#rebuild();
  }

  becomePlain(): void {
    this.#isPlain = true;
  }

  /** Becomes plain for good, because its output costs too much. */
  giveUp(): void {
    this.#isGivenUp = true;
    this.becomePlain();
  }

  processed(bytes: number): void {
    this.#unprocessedBytes -= bytes;
    if (this.#unprocessedBytes === 0) this.#catchUp();
  }

  /** Sends what was withheld. If the tail no longer has all of it, or the size changed meanwhile, the emulator starts again from the tail. */
  #catchUp(): void {
    if (this.#isPlain || (this.#withheldBytes === 0 && !this.#mustRebuild)) return;
    const missing = this.#withheldBytes;
    const mustRebuild = this.#mustRebuild || missing > this.#tail.length;
    this.#withheldBytes = 0;
    this.#mustRebuild = false;
    if (mustRebuild) this.#rebuild();
    else this.#send(this.#tail.last(missing));
  }

  #rebuild(): void {
    this.#screens.send({ kind: 'open', id: this.id, size: this.#size });
    if (this.#tail.length > 0) this.#send(this.#tail.text());
  }

  #send(bytes: Uint8Array<ArrayBuffer>): void {
    this.#unprocessedBytes += bytes.length;
    this.#screens.send({ kind: 'write', id: this.id, bytes });
  }

  [Symbol.dispose](): void {
    this.becomePlain();
    this.#screens.close(this);
  }
}
