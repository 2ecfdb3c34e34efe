import { duplexPair } from 'node:stream';
import type { SizeName } from '@mayfly/contract';
import type { AgentChannel, Machine, MachineExit } from '../../../src/core/ports/machine-driver.ts';
import { FakeAgent } from './agent.ts';
import { serveAgentPorts } from './agent-ports.ts';
import { Gate } from './gate.ts';
import { socketPair } from './socket-pair.ts';

/** A machine that exists only in memory; its agent speaks the real protocol. */
export class FakeMachine implements Machine {
  readonly id: string;
  readonly size: SizeName;
  readonly exited: Promise<MachineExit>;
  /** What is inside, for tests to look at. */
  readonly agent: FakeAgent;
  readonly #agentSilent: boolean;
  readonly #exit = Promise.withResolvers<MachineExit>();
  readonly #gone = new AbortController();
  readonly #gate = new Gate();
  #channel: AgentChannel | undefined;

  constructor(id: string, size: SizeName, agentSilent: boolean) {
    this.id = id;
    this.size = size;
    this.exited = this.#exit.promise;
    this.agent = new FakeAgent(this.#gone.signal, this.#gate);
    this.#agentSilent = agentSilent;
  }

  async openAgentChannel(signal?: AbortSignal): Promise<AgentChannel> {
    const [data, guestData] = await socketPair();
    try {
      signal?.throwIfAborted();
      this.#mustBeAlive();
      if (this.#channel !== undefined) throw new Error(`machine ${this.id} has an open agent channel already`);
    } catch (error) {
      for (const socket of [data, guestData]) socket.destroy();
      throw error;
    }
    const [control, guestControl] = duplexPair();
    const channel: AgentChannel = {
      control,
      data,
      close: () => {
        if (this.#channel === channel) this.#channel = undefined;
        for (const stream of [control, data, guestControl, guestData]) stream.destroy();
      },
    };
    control.once('close', () => channel.close());
    data.once('close', () => channel.close());
    this.#channel = channel;
    if (this.#agentSilent) for (const stream of [guestControl, guestData]) stream.resume();
    else void serveAgentPorts(guestControl, guestData, this.agent, this.#gate);
    return channel;
  }

  async setEgress(): Promise<void> {}

  leave(): void {
    this.#channel?.close();
  }

  async pause(): Promise<void> {
    this.#mustBeAlive();
    this.#gate.shut();
  }

  async resume(): Promise<void> {
    this.#mustBeAlive();
    this.#gate.open();
  }

  async destroy(): Promise<void> {
    this.#end({ requested: true, reason: 'destroyed' });
    await this.exited;
  }

  /** For tests: the machine goes away by itself. */
  die(reason = 'the fake machine died'): void {
    this.#end({ requested: false, reason });
  }

  #end(exit: MachineExit): void {
    if (this.#gone.signal.aborted) return;
    this.#gone.abort();
    this.#gate.open();
    this.#channel?.close();
    this.#exit.resolve(exit);
  }

  #mustBeAlive(): void {
    if (this.#gone.signal.aborted) throw new Error(`machine ${this.id} is gone`);
  }
}
