import { parentPort, workerData } from 'node:worker_threads';
import type { TerminalSize } from '../core/ports/screens.ts';
import { Emulator } from './emulator.ts';
import { type Answer, type Request, resizeBytes, type WorkerSettings } from './messages.ts';

/** How much of one screen is processed before the next screen has its turn. */
const turnBytes = 4096;

type Job = Extract<Request, { kind: 'write' | 'resize' | 'show' }>;

interface OpenScreen {
  readonly id: number;
  readonly emulator: Emulator;
  readonly jobs: Job[];
}

const { current, maxTurnCpuMs }: WorkerSettings = workerData;
const currentId = new Int32Array(current);

const screens = new Map<number, OpenScreen>();
/** Screens that have jobs, in the order of their turns. */
const waiting = new Set<OpenScreen>();
let isRunning = false;

function answer(message: Answer): void {
  parentPort?.postMessage(
    message,
    'bytes' in message && message.bytes instanceof Uint8Array ? [message.bytes.buffer] : [],
  );
}

function open(id: number, size: TerminalSize): void {
  close(id);
  screens.set(id, { id, emulator: new Emulator(size), jobs: [] });
}

/** Drops the jobs of the screen. The bytes of its writes count as processed. */
function close(id: number): void {
  const screen = screens.get(id);
  if (screen === undefined) return;
  screens.delete(id);
  waiting.delete(screen);
  let bytes = 0;
  for (const job of screen.jobs) {
    if (job.kind === 'write') bytes += job.bytes.length;
    if (job.kind === 'resize') bytes += resizeBytes;
    if (job.kind === 'show') answer({ kind: 'shown', show: job.show, bytes: undefined });
  }
  screen.jobs.length = 0;
  if (bytes > 0) answer({ kind: 'processed', id, bytes });
}

function add(job: Job): void {
  const screen = screens.get(job.id);
  if (screen !== undefined) {
    screen.jobs.push(job);
    waiting.add(screen);
    void run();
  } else if (job.kind === 'show') {
    answer({ kind: 'shown', show: job.show, bytes: undefined });
  }
}

async function run(): Promise<void> {
  if (isRunning) return;
  isRunning = true;
  for (const screen of waiting) {
    // Moves it to the end, and the iteration with it.
    waiting.delete(screen);
    await takeTurn(screen);
    if (screen.jobs.length > 0 && screens.get(screen.id) === screen) waiting.add(screen);
  }
  isRunning = false;
}

async function takeTurn(screen: OpenScreen): Promise<void> {
  Atomics.store(currentId, 0, screen.id);
  const isTooExpensive = cpuLimit();
  let budgetBytes = turnBytes;
  while (budgetBytes > 0) {
    const [job] = screen.jobs;
    if (job === undefined) break;
    if (job.kind === 'write') {
      const bytes = takeBytes(screen.jobs, budgetBytes);
      await screen.emulator.write(bytes, isTooExpensive);
      budgetBytes -= bytes.length;
      answer({ kind: 'processed', id: screen.id, bytes: bytes.length });
    } else if (job.kind === 'resize') {
      screen.jobs.shift();
      screen.emulator.resize(job.size);
      budgetBytes -= resizeBytes;
      answer({ kind: 'processed', id: screen.id, bytes: resizeBytes });
    }
    if (isTooExpensive()) {
      answer({ kind: 'given-up', id: screen.id });
      close(screen.id);
      break;
    }
    if (job.kind === 'show') {
      screen.jobs.shift();
      answer({ kind: 'shown', show: job.show, bytes: screen.emulator.show() });
      break;
    }
  }
  Atomics.store(currentId, 0, 0);
}

/** Returns whether this thread has used more CPU time from now on than a turn may. */
function cpuLimit(): () => boolean {
  const start = process.threadCpuUsage();
  return () => {
    const { user, system } = process.threadCpuUsage(start);
    return user + system > maxTurnCpuMs * 1000;
  };
}

/** Takes up to `maxBytes` off the writes at the head of the jobs. xterm.js waits for a timer at each write, so small ones are joined. */
function takeBytes(jobs: Job[], maxBytes: number): Uint8Array {
  const taken: Uint8Array[] = [];
  let length = 0;
  while (length < maxBytes) {
    const [job] = jobs;
    if (job?.kind !== 'write') break;
    const bytes = job.bytes.subarray(0, maxBytes - length);
    if (bytes.length < job.bytes.length) jobs[0] = { ...job, bytes: job.bytes.subarray(bytes.length) };
    else jobs.shift();
    taken.push(bytes);
    length += bytes.length;
  }
  return Buffer.concat(taken);
}

parentPort?.on('message', (request: Request) => {
  switch (request.kind) {
    case 'open':
      open(request.id, request.size);
      break;
    case 'close':
      close(request.id);
      break;
    case 'write':
    case 'resize':
    case 'show':
      add(request);
      break;
  }
});
