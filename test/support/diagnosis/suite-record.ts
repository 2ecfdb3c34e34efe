import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Names the folder with the records of a run. Set by the run's main process, inherited by the processes of the test files. */
export const recordsVariable = 'MAYFLY_TEST_RECORDS';

/** How many lines of each log are kept. */
const keptLines = 100;
/** When a file with a log is written again with the kept lines alone. */
const rewriteBytes = 1024 * 1024;

/** What the process of a test file says about itself. It is on disk so that others can read it when that process hangs. */
interface SuiteState {
  readonly file: string;
  readonly pid: number;
  /** The names of the tests that are running. */
  readonly tests: readonly string[];
  /** The data folders of services and drivers that it started. */
  readonly dataDirs: readonly string[];
}

/** A state, with the folder that it is in beside the logs of the services. */
export interface SuiteRecord extends SuiteState {
  readonly folder: string;
}

/** The record of the test file that this process runs. */
class OpenRecord {
  readonly folder: string;
  #state: SuiteState = { file: '', pid: process.pid, tests: [], dataDirs: [] };
  #logs = 0;

  constructor() {
    const parent = process.env[recordsVariable];
    this.folder = parent === undefined ? mkdtempSync(join(tmpdir(), 'mayfly-record-')) : join(parent, `${process.pid}`);
    if (parent !== undefined) mkdirSync(this.folder, { recursive: true });
    else process.once('exit', () => rmSync(this.folder, { recursive: true, force: true }));
  }

  get state(): SuiteState {
    return this.#state;
  }

  change(changed: Partial<SuiteState>): void {
    this.#state = { ...this.#state, ...changed };
    const path = join(this.folder, 'state.json');
    writeAnyway(() => {
      writeFileSync(`${path}.new`, JSON.stringify(this.#state));
      // A reader sees one state or the other.
      renameSync(`${path}.new`, path);
    });
  }

  newLogPath(): string {
    this.#logs += 1;
    return join(this.folder, `${this.#logs}.log`);
  }
}

let opened: OpenRecord | undefined;

function openRecord(): OpenRecord {
  opened ??= new OpenRecord();
  return opened;
}

/** The record of this process. */
export function ownRecord(): SuiteRecord {
  const { folder, state } = openRecord();
  return { folder, ...state };
}

/** Says which test file this process runs from now on. */
export function recordFile(file: string): void {
  openRecord().change({ file, tests: [], dataDirs: [] });
}

/** Says that a test has started. Returns what to call when it has ended. */
export function recordTest(name: string): () => void {
  const record = openRecord();
  record.change({ tests: [...record.state.tests, name] });
  return () => record.change({ tests: record.state.tests.filter((other) => other !== name) });
}

/** Says that machines of this process, or of a service that it started, are in this data folder. */
export function recordDataFolder(dataDir: string): void {
  const record = openRecord();
  if (!record.state.dataDirs.includes(dataDir)) record.change({ dataDirs: [...record.state.dataDirs, dataDir] });
}

/** The last lines of a log in a file of this process's record. */
export class RecordedLines {
  readonly #path = openRecord().newLogPath();
  readonly #lines: string[] = [];
  #fileBytes = 0;

  append(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length > keptLines) this.#lines.shift();
    this.#fileBytes += line.length + 1;
    if (this.#fileBytes <= rewriteBytes) {
      writeAnyway(() => appendFileSync(this.#path, `${line}\n`));
    } else {
      const text = `${this.#lines.join('\n')}\n`;
      this.#fileBytes = text.length;
      writeAnyway(() => writeFileSync(this.#path, text));
    }
  }
}

/** A test must not fail because its record cannot be written. */
function writeAnyway(write: () => void): void {
  try {
    write();
  } catch {
    // The diagnosis has less to tell.
  }
}

/** The records of the test files of a run. */
export function readRecords(recordsFolder: string): SuiteRecord[] {
  return readdirSync(recordsFolder).flatMap((name) => {
    try {
      const folder = join(recordsFolder, name);
      return [{ folder, ...(JSON.parse(readFileSync(join(folder, 'state.json'), 'utf8')) as SuiteState) }];
    } catch {
      // Its process has just started.
      return [];
    }
  });
}

/** The logs in a record, oldest first. */
export function readLogs(folder: string): string[][] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.log'))
    .sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
    .map((name) => lastLines(join(folder, name), keptLines));
}

/** Reads at most this much of the end of a file. */
const tailBytes = 256 * 1024;

/** The last lines of a text file; none if it cannot be read. */
export function lastLines(path: string, count: number): string[] {
  try {
    if (!statSync(path).isFile()) return [];
    const text = readFileSync(path).subarray(-tailBytes).toString('utf8').trimEnd();
    return text === '' ? [] : text.split(/\r*\n/).slice(-count);
  } catch {
    return [];
  }
}
