import { keepConsoles } from './consoles.ts';
import { RecordedLines, recordDataFolder } from './suite-record.ts';

/** The levels of a log, the least important first. */
const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

interface ServiceLogOptions {
  readonly dataDir: string;
  /** The level from which on lines are printed. */
  readonly printedLevel: string;
  /** Prints a line; by default on standard error. */
  readonly print?: (line: string) => void;
}

/** The log of one service under test: what is needed to diagnose a failure is kept, and only what the suite wants is printed. */
export class ServiceLog {
  /** What the service has to log at. */
  readonly level: string;
  readonly #dataDir: string;
  readonly #printed: number;
  readonly #print: (line: string) => void;
  readonly #kept = new RecordedLines();

  constructor({ dataDir, printedLevel, print = printOnStderr }: ServiceLogOptions) {
    this.#dataDir = dataDir;
    this.#printed = levels.indexOf(printedLevel);
    this.level = this.#printed < levels.indexOf('info') ? printedLevel : 'info';
    this.#print = print;
    recordDataFolder(dataDir);
  }

  /** Takes a line that the service wrote. What is not a line of a log, such as a stack trace, is always printed. */
  readonly write = (line: string): void => {
    this.#kept.append(line);
    const [, level] = /^\{"level":"(\w+)"/.exec(line) ?? [];
    if (level === undefined || levels.indexOf(level) >= this.#printed) this.#print(line);
  };

  /** Keeps the ends of the machines' consoles. To be called before the machines are destroyed. */
  keepConsoles(): void {
    keepConsoles(this.#dataDir);
  }
}

function printOnStderr(line: string): void {
  process.stderr.write(`${line}\n`);
}
