import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Reporter, TestModule } from 'vitest/node';
import { describeSuite } from './diagnosis/describe-suite.ts';
import { readRecords, recordsVariable, type SuiteRecord } from './diagnosis/suite-record.ts';
import { length } from './length.ts';
import { machinePids, signalProcess } from './machine-processes.ts';
import { childrenOf } from './supervised-processes.ts';

/** How long one file may take, whatever its tests and hooks may take each. */
const limitMinutes = { unit: 5, machines: length(15, 90) };
/** How long the services of an ended file have to destroy their machines. */
const cleanupMs = 60_000;
const killAfterMs = 2_000;
/** A timer with a longer time fires at once. */
const maxTimerMs = 2 ** 31 - 1;

/**
 * Ends test files that take longer than a limit, names them and fails the run; the other files still run. Works when the process of the file no
 * longer reacts. Also describes what is known when a hook failed.
 */
export class HungSuites implements Reporter {
  /** By the id of the file's module. */
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #cleanups: Promise<void>[] = [];
  readonly #ended: string[] = [];
  #recordsFolder = '';

  onInit(): void {
    this.#recordsFolder = mkdtempSync(join(tmpdir(), 'mayfly-records-'));
    process.env[recordsVariable] = this.#recordsFolder;
    process.once('exit', () => rmSync(this.#recordsFolder, { recursive: true, force: true }));
  }

  onTestModuleQueued(module: TestModule): void {
    const minutes = minutesFor(module.relativeModuleId);
    if (!(minutes > 0)) return;
    const limitMs = Math.min(minutes * 60_000, maxTimerMs);
    const timer = setTimeout(() => this.#cleanups.push(this.#endHung(module, minutes)), limitMs);
    this.#timers.set(module.id, timer);
  }

  onTestModuleEnd(module: TestModule): void {
    clearTimeout(this.#timers.get(module.id));
    this.#timers.delete(module.id);
    const record = this.#recordOf(module);
    // Without a data folder there is neither a service nor a machine, and the error says everything.
    if (record && record.dataDirs.length > 0 && hasFailedHook(module)) {
      print([`-- failed outside of tests: ${module.relativeModuleId}`, ...describeSuite(record)]);
    }
  }

  async onTestRunEnd(): Promise<void> {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    await Promise.all(this.#cleanups);
    for (const sentence of this.#ended) process.stdout.write(`  ended: ${sentence}\n`);
  }

  #recordOf(module: TestModule): SuiteRecord | undefined {
    return readRecords(this.#recordsFolder).find(({ file }) => file === module.moduleId);
  }

  async #endHung(module: TestModule, minutes: number): Promise<void> {
    process.exitCode = 1;
    const record = this.#recordOf(module);
    const sentence = `${module.relativeModuleId} did not end within ${minutes} minutes.`;
    this.#ended.push(sentence);
    if (!record) {
      // Nobody knows which process it is.
      print([`-- ${sentence} The run is ended.`]);
      process.exit();
    }
    const running = record.tests.length > 0 ? record.tests.join(', ') : 'none: a hook, or the file is being loaded';
    print([`-- ${sentence} It is ended; the run fails.`, `-- running test: ${running}`, ...describeSuite(record)]);
    await endProcesses(record);
  }
}

/** The limit of a file; 0 for none. */
function minutesFor(file: string): number {
  const { MAYFLY_TEST_FILE_MINUTES: minutes } = process.env;
  if (minutes !== undefined) return Number(minutes);
  return file.startsWith('packages/') ? limitMinutes.unit : limitMinutes.machines;
}

function hasFailedHook(module: TestModule): boolean {
  return module.errors().length > 0 || [...module.children.allSuites()].some((suite) => suite.errors().length > 0);
}

/** Kills the process of a file. Services that it started destroy their machines when it dies; what is left afterwards is killed and removed. */
async function endProcesses({ pid, dataDirs }: SuiteRecord): Promise<void> {
  const [own, ...others] = [pid, ...descendantsOf(pid)].map((each) => ({ pid: each, startedAt: startOf(each) }));
  const isAlive = (process: { pid: number; startedAt: string } | undefined) =>
    process !== undefined && process.startedAt !== '' && startOf(process.pid) === process.startedAt;
  if (isAlive(own)) signalProcess(pid, 'SIGTERM');
  await waitWhile(() => isAlive(own), killAfterMs);
  if (isAlive(own)) signalProcess(pid, 'SIGKILL');
  await waitWhile(() => others.some(isAlive), cleanupMs);
  for (const other of others.filter(isAlive)) signalProcess(other.pid, 'SIGKILL');
  for (const dataDir of dataDirs) {
    for (const machine of (await machinePids(dataDir)).values()) signalProcess(machine, 'SIGKILL');
    // What a machine holds of the host is released by the next host process that finds its data folder deleted.
    await rm(dataDir, { recursive: true, force: true }).catch(() => {});
  }
}

async function waitWhile(condition: () => boolean, maxMs: number): Promise<void> {
  const untilMs = performance.now() + maxMs;
  while (condition() && performance.now() < untilMs) await pause(100);
}

function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}

/** When a process was started, so that another one with its pid is not mistaken for it; empty if it is gone or a zombie. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? '' : (fields[19] ?? '');
  } catch {
    return '';
  }
}

function print(lines: readonly string[]): void {
  process.stderr.write(`\n${lines.join('\n')}\n\n`);
}
