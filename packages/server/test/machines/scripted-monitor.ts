import type { QmpEvent } from '../../src/machines/qemu/qmp/messages.ts';

type Answer = (args: Record<string, unknown>) => unknown;

/** A QEMU monitor that answers from a script. A command that the script does not have fails. */
export class ScriptedMonitor {
  /** The commands that were executed, oldest first. */
  readonly commands: string[] = [];
  readonly closed: Promise<void>;
  readonly #answers: Readonly<Record<string, Answer>>;
  readonly #listeners = new Set<(event: QmpEvent) => void>();
  #close: () => void = () => {};
  #isClosed = false;
  #waiting: { readonly command: string; readonly resolve: () => void }[] = [];

  constructor(answers: Readonly<Record<string, Answer>>) {
    this.#answers = answers;
    this.closed = new Promise((resolve) => {
      this.#close = resolve;
    });
  }

  async execute(command: string, args: Record<string, unknown> = {}): Promise<unknown> {
    if (this.#isClosed) throw new Error('QEMU closed its monitor');
    this.commands.push(command);
    const ready = this.#waiting.filter((waiting) => waiting.command === command);
    this.#waiting = this.#waiting.filter((waiting) => waiting.command !== command);
    for (const { resolve } of ready) resolve();
    const answer = this.#answers[command];
    if (answer === undefined) throw new Error(`QEMU: unknown command ${command}`);
    return await answer(args);
  }

  onEvent(listener: (event: QmpEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Sends an event, which happened at the given time by the host's clock. */
  emit(event: string, data: Record<string, unknown> = {}, atMs = 0): void {
    const timestamp = { seconds: Math.floor(atMs / 1_000), microseconds: (atMs % 1_000) * 1_000 };
    for (const listener of this.#listeners) listener({ event, data, timestamp });
  }

  /** Resolves when a command is executed the next time. */
  ran(command: string): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ command, resolve });
    });
  }

  /** Ends QEMU. */
  exit(): void {
    this.#isClosed = true;
    this.#close();
  }
}
