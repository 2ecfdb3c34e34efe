import type { RawService } from './host-lab.ts';
import type { HostileMessage } from './hostile-messages.ts';

/** How many calls are on their way at the same time. */
const callsAtOnce = 100;

/** What was sent, by kind and by what the host process had to do with it, and its answers to calls, by their code. */
export interface AttackReport {
  readonly sent: Readonly<Record<string, number>>;
  readonly answers: Readonly<Record<string, number>>;
}

/** Sends messages over as many connections as it takes. Throws if the host process does anything else with one than it must. */
export class Attacker {
  readonly #connect: () => Promise<RawService>;
  readonly #sent = new Map<string, number>();
  readonly #answers = new Map<string, number>();
  #service: RawService | undefined;
  #nextId = 1;

  constructor(connect: () => Promise<RawService>) {
    this.#connect = connect;
  }

  async send({ kind, mustBe, bytes }: HostileMessage): Promise<void> {
    this.#service ??= await this.#greeted();
    const service = this.#service;
    service.send(bytes(this.#nextId));
    if (mustBe === 'disconnected') {
      await service.closed();
      this.#countAnswers(service);
      this.#service = undefined;
    } else {
      this.#nextId += 1;
      if (this.#nextId % callsAtOnce === 0) await this.#answered(service);
    }
    count(this.#sent, `${kind} ${mustBe}`);
  }

  report(): AttackReport {
    return { sent: Object.fromEntries(this.#sent), answers: Object.fromEntries(this.#answers) };
  }

  async #greeted(): Promise<RawService> {
    const service = await this.#connect();
    await service.greet();
    service.received.splice(0);
    this.#nextId = 1;
    return service;
  }

  /** Waits for the answer to the latest call, then forgets what was received. */
  async #answered(service: RawService): Promise<void> {
    const last = this.#nextId - 1;
    await service.next(({ id }) => id === last);
    this.#countAnswers(service);
  }

  #countAnswers(service: RawService): void {
    for (const { id, error } of service.received.splice(0)) {
      if (id !== undefined) count(this.#answers, codeOf(error));
    }
  }
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'ok';
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
