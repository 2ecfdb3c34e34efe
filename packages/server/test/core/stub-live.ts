import { EventEmitter, once } from 'node:events';
import {
  type ExecuteResult,
  GuestRefusal,
  GuestUnreachable,
  type LiveOutput,
  type LivePart,
  type LiveRequest,
} from '../../src/core/ports/guest-agent.ts';

type Bytes = Extract<LivePart, { bytes: Buffer }>;

/** A live command that a test controls. */
export class StubLiveCommand {
  readonly request: LiveRequest;
  readonly written: Bytes[] = [];
  readonly stdin: string[] = [];
  readonly signals: number[] = [];
  /** Called with what is written to stdin, and whether it is closed then. A write is accepted when it returns. */
  onStdin: (bytes: Buffer, close: boolean) => void | Promise<void> = () => {};
  /** Called with the number of each signal. */
  onSignal: (signal: number) => void = () => {};
  /** Refuses the next write to stdin or signal with this code. */
  refusal: string | undefined;
  readonly #changed = new EventEmitter().setMaxListeners(0);
  #result: ExecuteResult | undefined;

  constructor(request: LiveRequest) {
    this.request = request;
  }

  print(kind: 'stdout' | 'stderr', text: string | Buffer): void {
    this.written.push({ kind, bytes: Buffer.from(text) });
    this.#changed.emit('change');
  }

  end(result: ExecuteResult): void {
    this.#result = result;
    this.#changed.emit('change');
  }

  async result(): Promise<ExecuteResult> {
    while (this.#result === undefined) await once(this.#changed, 'change');
    return this.#result;
  }

  /** The output after a position, until `lost` settles or the reader closes it. */
  read(afterBytes: number, lost: Promise<void>): LiveOutput {
    const closing = new AbortController();
    void lost.then(() => closing.abort());
    const parts = async function* (this: StubLiveCommand): AsyncGenerator<LivePart, void> {
      let skip = afterBytes;
      for (let index = 0; ; ) {
        const part = this.written[index];
        if (closing.signal.aborted) throw new GuestUnreachable('the connection was lost');
        if (part !== undefined) {
          index += 1;
          const bytes = part.bytes.subarray(skip);
          skip = Math.max(skip - part.bytes.length, 0);
          if (bytes.length > 0) yield { ...part, bytes };
        } else if (this.#result !== undefined) {
          yield { kind: 'ended' };
          return;
        } else await once(this.#changed, 'change', { signal: closing.signal }).catch(() => {});
      }
    };
    return { [Symbol.asyncIterator]: () => parts.call(this), close: () => closing.abort() };
  }

  refuseIfAsked(): void {
    const code = this.refusal;
    this.refusal = undefined;
    if (code !== undefined) throw new GuestRefusal(code, 'refused by the test');
  }
}

/** The live commands of all stubbed machines, by id. */
export class StubLive {
  readonly commands = new Map<string, StubLiveCommand>();
  /** Runs when a command starts; a test prints from here, or throws. */
  onStart: (command: StubLiveCommand) => void | Promise<void> = () => {};

  async start(request: LiveRequest, lost: Promise<void>): Promise<LiveOutput> {
    const command = new StubLiveCommand(request);
    this.commands.set(request.id, command);
    await this.onStart(command);
    return command.read(0, lost);
  }

  get(id: string): StubLiveCommand {
    const command = this.commands.get(id);
    if (command === undefined) throw new GuestRefusal('not_found', 'no such execution');
    return command;
  }
}
