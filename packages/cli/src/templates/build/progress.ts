import { formatBytes } from '@mayfly/contract';
import { type Snapshot, toApi } from '@mayfly/sdk';
import type { CliIo } from '../../cli-io.ts';
import { printable } from '../../output.ts';
import { progressDelayMs } from '../../progress-line.ts';

export interface StepStatus {
  /** Counted from 1. */
  readonly step: number;
  readonly total: number;
  readonly label: string;
}

/** What a build reports while it runs. */
export interface Progress {
  buildStarted(build: { readonly alias: string; readonly base: string; readonly total: number }): void;
  /** Something other than a step takes a while. */
  waiting(text: string): void;
  stepStarted(status: StepStatus): void;
  stepFinished(status: StepStatus, result: { readonly cached: boolean; readonly durationMs: number }): void;
  stepFailed(status: StepStatus, result: { readonly exitCode: number | null; readonly output: string }): void;
  note(message: string): void;
  buildFinished(snapshot: Snapshot, result: { readonly cached: boolean; readonly durationMs: number }): void;
  /** Always the last call. */
  close(): void;
}

const shownLines = 100;

/** The last lines of what a command printed. */
function lastLines(output: string): string[] {
  const lines = output.replace(/\n$/, '').split(/\r?\n/);
  return output === '' ? [] : lines.slice(-shownLines);
}

/** One line per step on stderr, and the result on stdout. On a terminal, the line of the running step counts seconds. */
export class TextProgress implements Progress {
  readonly #stdout: CliIo['stdout'];
  readonly #stderr: CliIo['stderr'];
  #timer: NodeJS.Timeout | undefined;
  #isShown = false;

  constructor({ stdout, stderr }: Pick<CliIo, 'stdout' | 'stderr'>) {
    this.#stdout = stdout;
    this.#stderr = stderr;
  }

  buildStarted({
    alias,
    base,
    total,
  }: {
    readonly alias: string;
    readonly base: string;
    readonly total: number;
  }): void {
    this.#line(`Building ${alias} from ${base} in ${total} ${total === 1 ? 'step' : 'steps'}.`);
  }

  stepStarted(status: StepStatus): void {
    this.#countSeconds(title(status), 0);
  }

  waiting(text: string): void {
    this.#countSeconds(text, progressDelayMs);
  }

  stepFinished(
    status: StepStatus,
    { cached, durationMs }: { readonly cached: boolean; readonly durationMs: number },
  ): void {
    this.#line(`${title(status)}: ${cached ? 'cached' : seconds(durationMs)}`);
  }

  stepFailed(
    status: StepStatus,
    { exitCode, output }: { readonly exitCode: number | null; readonly output: string },
  ): void {
    this.#line(`${title(status)}: failed${exitCode === null ? '' : ` with exit code ${exitCode}`}`);
    for (const line of lastLines(output)) this.#line(`  ${printable(line)}`);
  }

  note(message: string): void {
    this.#line(printable(message));
  }

  buildFinished(
    { id, alias, bytes }: Snapshot,
    { cached, durationMs }: { readonly cached: boolean; readonly durationMs: number },
  ): void {
    const how = cached ? 'is up to date' : `was built in ${seconds(durationMs)}`;
    const text = `Template ${alias} ${how}: ${id}, ${formatBytes(bytes)}. Create sandboxes with: mayfly create --template ${alias}`;
    if (this.#stdout.isTTY) {
      this.#endTimer();
      this.#stdout.write(`${text}\n`);
    } else {
      this.#line(text);
      this.#stdout.write(`${id}\n`);
    }
  }

  close(): void {
    this.#endTimer();
  }

  #endTimer(): void {
    if (!this.#timer) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (this.#isShown) this.#stderr.write('\r\x1b[2K');
    this.#isShown = false;
  }

  /** Shows on a terminal how long something takes, once it has taken this long. */
  #countSeconds(text: string, afterMs: number): void {
    this.#endTimer();
    if (!this.#stderr.isTTY) return;
    const startedAt = Date.now();
    const show = () => {
      const tookMs = Date.now() - startedAt;
      if (tookMs >= afterMs) this.#rewrite(text, ` … ${Math.floor(tookMs / 1000)} s`);
    };
    show();
    this.#timer = setInterval(show, 1000).unref();
  }

  #line(text: string): void {
    this.#endTimer();
    this.#stderr.write(`${text}\n`);
  }

  /** Shortens the beginning, so that the end is visible on a narrow terminal. */
  #rewrite(text: string, end: string): void {
    const room = Math.max((this.#stderr.columns || 80) - 1 - end.length, 10);
    this.#isShown = true;
    this.#stderr.write(`\r\x1b[2K${text.length > room ? `${text.slice(0, room - 1)}…` : text}${end}`);
  }
}

function title({ step, total, label }: StepStatus): string {
  const [first = '', ...more] = label.split('\n');
  const shown = first.length > 100 || more.length > 0 ? `${first.slice(0, 100)} …` : first;
  return `[${step}/${total}] ${printable(shown)}`;
}

function seconds(durationMs: number): string {
  return `${(durationMs / 1000).toFixed(1)} s`;
}

/** One JSON object per line on stdout: the events are the result. */
export class JsonProgress implements Progress {
  readonly #stdout: CliIo['stdout'];

  constructor({ stdout }: Pick<CliIo, 'stdout'>) {
    this.#stdout = stdout;
  }

  buildStarted(build: { readonly alias: string; readonly base: string; readonly total: number }): void {
    this.#event('build_started', build);
  }

  waiting(): void {}

  stepStarted(status: StepStatus): void {
    this.#event('step_started', status);
  }

  stepFinished(
    status: StepStatus,
    { cached, durationMs }: { readonly cached: boolean; readonly durationMs: number },
  ): void {
    this.#event('step_finished', { ...status, cached, duration_ms: Math.round(durationMs) });
  }

  stepFailed(
    status: StepStatus,
    { exitCode, output }: { readonly exitCode: number | null; readonly output: string },
  ): void {
    this.#event('step_failed', { ...status, exit_code: exitCode, output: lastLines(output).join('\n') });
  }

  note(message: string): void {
    this.#event('note', { message });
  }

  buildFinished(
    snapshot: Snapshot,
    { cached, durationMs }: { readonly cached: boolean; readonly durationMs: number },
  ): void {
    this.#event('build_finished', { cached, duration_ms: Math.round(durationMs), snapshot: toApi(snapshot) });
  }

  close(): void {}

  #event(event: string, fields: object): void {
    this.#stdout.write(`${JSON.stringify({ event, ...fields })}\n`);
  }
}
