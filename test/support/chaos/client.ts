import { setTimeout as pause } from 'node:timers/promises';
import type { ExecutionBody } from '../http.ts';
import type { Acknowledged, SentFile } from './acknowledged.ts';
import type { Answer, Api } from './api.ts';
import { commandKinds } from './commands.ts';
import type { Random } from './random.ts';
import type { Trace } from './trace.ts';

export interface ClientParts {
  readonly name: string;
  readonly random: Random;
  readonly api: Api;
  readonly acknowledged: Acknowledged;
  readonly trace: Trace;
  /** How many sandboxes it wants at once. */
  readonly wants: number;
}

const workload = { command: 40, file: 25, both: 15, read: 8, extend: 7, remove: 5 } as const;

/** One user of the service: makes sandboxes, works in them and throws them away, and remembers what it was promised. */
export class Client {
  readonly #parts: ClientParts;
  readonly #sandboxes: string[] = [];
  #made = 0;
  #isEnded: () => boolean = () => false;

  constructor(parts: ClientParts) {
    this.#parts = parts;
  }

  /** Whether it has something to lose. */
  get hasSandbox(): boolean {
    return this.#sandboxes.length > 0;
  }

  /** Works until it is told to end. */
  async run(isEnded: () => boolean): Promise<void> {
    const { random } = this.#parts;
    this.#isEnded = isEnded;
    while (!isEnded()) {
      const sandboxId = random.pick(this.#sandboxes);
      const wantsMore = this.#sandboxes.length < this.#parts.wants && random.next() < 0.1;
      if (sandboxId === undefined || wantsMore) await this.#create();
      else await this.#work(sandboxId);
      await pause(random.between(0, 150));
    }
  }

  async #work(sandboxId: string): Promise<void> {
    switch (this.#parts.random.weighted(workload)) {
      case 'command':
        return this.#command(sandboxId);
      case 'file':
        return this.#file(sandboxId);
      case 'both':
        await Promise.all([this.#command(sandboxId), this.#file(sandboxId), this.#command(sandboxId)]);
        return;
      case 'read':
        return this.#read(sandboxId);
      case 'extend':
        return this.#extend(sandboxId);
      case 'remove':
        return this.#remove(sandboxId);
    }
  }

  /** Tries with one key until it is told yes or no. */
  async #create(): Promise<void> {
    const { api, acknowledged } = this.#parts;
    const key = this.#nextName('s');
    const ids = new Set<string>();
    acknowledged.creates.set(key, ids);
    while (!this.#isEnded()) {
      const { status, body } = await api.ask('POST', '/sandboxes', { body: { name: key }, idempotencyKey: key });
      if (status === 201 || status === 200) {
        ids.add(String(body.id));
        if (body.status === 'running') this.#sandboxes.push(String(body.id));
        return;
      }
      if (status === 429) return await this.#backOff();
      if (status !== 0 && status < 500) return this.#unexpected('create', key, status);
      await this.#backOff();
    }
  }

  async #command(sandboxId: string): Promise<void> {
    const { api, acknowledged, random } = this.#parts;
    const token = this.#nextName('c');
    const kind = commandKinds[random.weighted({ quick: 50, failing: 10, slow: 30, large: 10 })];
    const sent = kind(token);
    const asked = await api.ask('POST', `/sandboxes/${sandboxId}/exec`, { body: { command: sent.command } });
    const answer = asked.status === 200 ? (asked.body as unknown as ExecutionBody) : undefined;
    acknowledged.commands.push({ sandboxId, token, answer });
    if (answer === undefined) return await this.#refused('exec', sandboxId, asked);
    if (answer.stdout !== sent.stdout || answer.exit_code !== sent.exitCode || answer.status !== 'completed') {
      const got = `${answer.status} ${answer.exit_code}, ${answer.stdout.length} characters`;
      acknowledged.problems.push(`${token} in ${sandboxId} answered ${got}`);
    }
  }

  async #file(sandboxId: string): Promise<void> {
    const { api, acknowledged, random } = this.#parts;
    const path = this.#nextName('f');
    const content = `${path};`.repeat(random.between(1, 8_000));
    const asked = await api.ask('PUT', `/sandboxes/${sandboxId}/files`, { body: { path, content } });
    acknowledged.files.push({ sandboxId, path, content, acknowledged: asked.status === 201 });
    if (asked.status !== 201) await this.#refused('write', sandboxId, asked);
  }

  async #read(sandboxId: string): Promise<void> {
    const { api, acknowledged, random } = this.#parts;
    const isMine = (file: SentFile) => file.acknowledged && file.sandboxId === sandboxId;
    const file = random.pick(acknowledged.files.filter(isMine));
    if (file === undefined) return;
    const asked = await api.ask('GET', `/sandboxes/${sandboxId}/files?path=${file.path}`);
    if (asked.status !== 200) await this.#refused('read', sandboxId, asked);
    else if (asked.body.content !== file.content) acknowledged.problems.push(`${file.path} has other content`);
  }

  async #extend(sandboxId: string): Promise<void> {
    const { api, acknowledged } = this.#parts;
    const asked = await api.ask('POST', `/sandboxes/${sandboxId}/extend`, { body: { additional_minutes: 1 } });
    if (asked.status !== 200) return await this.#refused('extend', sandboxId, asked);
    acknowledged.expiriesMs.set(sandboxId, Date.parse(String(asked.body.expires_at)));
  }

  /** Tries until it is answered. */
  async #remove(sandboxId: string): Promise<void> {
    const { api, acknowledged } = this.#parts;
    this.#forget(sandboxId);
    acknowledged.deleteAsked.add(sandboxId);
    while (!this.#isEnded()) {
      const { status } = await api.ask('DELETE', `/sandboxes/${sandboxId}`);
      if (status === 200 || status === 202) acknowledged.deleted.add(sandboxId);
      if (status === 200 || status === 202 || status === 404) return;
      if (status !== 0 && status < 500) return this.#unexpected('delete', sandboxId, status);
      await this.#backOff();
    }
  }

  /** A lost connection or a 5xx leaves open what happened; 404 and 409 say that the sandbox is gone. */
  async #refused(what: string, sandboxId: string, { status }: Answer): Promise<void> {
    if (status === 404 || status === 409) {
      this.#parts.acknowledged.toldGone.add(sandboxId);
      this.#forget(sandboxId);
    } else if (status !== 0 && status < 500) {
      this.#unexpected(what, sandboxId, status);
    }
    await this.#backOff();
  }

  /** Waits as a client does that was not served. */
  async #backOff(): Promise<void> {
    await pause(this.#parts.random.between(200, 600));
  }

  #unexpected(what: string, id: string, status: number): void {
    this.#parts.acknowledged.problems.push(`${what} of ${id} answered ${status}`);
  }

  #forget(sandboxId: string): void {
    const at = this.#sandboxes.indexOf(sandboxId);
    if (at >= 0) this.#sandboxes.splice(at, 1);
  }

  #nextName(kind: string): string {
    this.#made += 1;
    return `${kind}-${this.#parts.name}-${this.#made}`;
  }
}
