import { EventEmitter, once } from 'node:events';
import {
  GuestRefusal,
  GuestUnreachable,
  type TerminalChannel,
  type TerminalPart,
} from '../../src/core/ports/guest-agent.ts';
import type { TerminalSize } from '../../src/core/ports/screens.ts';

/** A terminal that a test controls. */
export class StubTerminal {
  readonly id: string;
  readonly typed: string[] = [];
  /** How many channels were opened, and how many of them are open. */
  views = 0;
  openViews = 0;
  /** The oldest output that is kept. */
  keptFrom = 0;
  /** Makes typing wait. */
  reading: Promise<void> = Promise.resolve();
  readonly #parts: Exclude<TerminalPart, { kind: 'position' | 'exit' }>[] = [];
  readonly #changed = new EventEmitter().setMaxListeners(0);
  #exitCode: number | undefined;

  constructor(id: string, size: TerminalSize) {
    this.id = id;
    this.#parts.push({ kind: 'size', size });
  }

  get hasExited(): boolean {
    return this.#exitCode !== undefined;
  }

  print(text: string | Uint8Array): void {
    this.#parts.push({ kind: 'output', bytes: Buffer.from(text) });
    this.#changed.emit('change');
  }

  resizeTo(size: TerminalSize): void {
    this.#parts.push({ kind: 'size', size });
    this.#changed.emit('change');
  }

  exit(exitCode: number): void {
    this.#exitCode = exitCode;
    this.#changed.emit('change');
  }

  view(afterBytes: number, lost: Promise<void>): TerminalChannel {
    const closing = new AbortController();
    void lost.then(() => closing.abort());
    this.views += 1;
    this.openViews += 1;
    closing.signal.addEventListener('abort', () => {
      this.openViews -= 1;
    });
    return {
      [Symbol.asyncIterator]: () => this.#read(Math.max(afterBytes, this.keptFrom), closing.signal),
      type: async (bytes) => {
        await this.reading;
        if (closing.signal.aborted) throw new GuestUnreachable('the connection was lost');
        this.typed.push(Buffer.from(bytes).toString());
      },
      resize: (size) => this.resizeTo(size),
      close: () => closing.abort(),
    };
  }

  async *#read(position: number, signal: AbortSignal): AsyncGenerator<TerminalPart, void> {
    const end = this.#parts.reduce((sum, part) => sum + (part.kind === 'output' ? part.bytes.length : 0), 0);
    yield { kind: 'position', position, end };
    let skip = position;
    for (let index = 0; ; ) {
      const part = this.#parts[index];
      if (signal.aborted) throw new GuestUnreachable('the connection was lost');
      if (part?.kind === 'output') {
        const bytes = part.bytes.subarray(skip);
        skip = Math.max(skip - part.bytes.length, 0);
        if (bytes.length > 0) yield { kind: 'output', bytes };
      } else if (part !== undefined) yield part;
      else if (this.#exitCode !== undefined) {
        yield { kind: 'exit', exitCode: this.#exitCode };
        return;
      }
      if (part === undefined) await once(this.#changed, 'change', { signal }).catch(() => {});
      else index += 1;
    }
  }
}

/** The terminals of all stubbed machines, by id. */
export class StubTerminals {
  readonly all = new Map<string, StubTerminal>();
  /** Refuses the next terminal with this code. */
  refusal: string | undefined;

  get newest(): StubTerminal {
    const newest = [...this.all.values()].at(-1);
    if (newest === undefined) throw new Error('no terminal was started');
    return newest;
  }

  start(id: string, size: TerminalSize, lost: Promise<void>): TerminalChannel {
    const code = this.refusal;
    this.refusal = undefined;
    if (code !== undefined) throw new GuestRefusal(code, 'refused by the test');
    const terminal = new StubTerminal(id, size);
    this.all.set(id, terminal);
    return terminal.view(0, lost);
  }

  /** The ids of those whose shell has not exited. */
  running(): string[] {
    return [...this.all].filter(([, terminal]) => !terminal.hasExited).map(([id]) => id);
  }

  get(id: string): StubTerminal {
    const terminal = this.all.get(id);
    if (terminal === undefined || terminal.hasExited) throw new GuestRefusal('not_found', 'no such terminal');
    return terminal;
  }
}
