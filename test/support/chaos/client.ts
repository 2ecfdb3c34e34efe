import { setTimeout as pause } from 'node:timers/promises';
import type { ExecutionBody } from '../api-requests.ts';
import type { ChaosApi, ChaosResponse } from './chaos-api.ts';
import type { Acknowledgements, SentFile } from './history.ts';
import type { Random } from './random.ts';

export interface ClientOptions {
  readonly name: string;
  readonly random: Random;
  readonly api: ChaosApi;
  readonly acknowledged: Acknowledgements;
  /** How many sandboxes the client keeps at most. */
  readonly maxSandboxes: number;
}

const workload = { command: 40, file: 25, both: 15, read: 8, extend: 7, remove: 5 } as const;

/** A user of the service: creates sandboxes, uses them, deletes them, and records what the service acknowledged. */
export class Client {
  readonly #options: ClientOptions;
  readonly #sandboxes: string[] = [];
  #nameCount = 0;
  #isStopped: () => boolean = () => false;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  get hasSandbox(): boolean {
    return this.#sandboxes.length > 0;
  }

  /** Sends requests until `isStopped` returns true. */
  async run(isStopped: () => boolean): Promise<void> {
    const { random } = this.#options;
    this.#isStopped = isStopped;
    while (!isStopped()) {
      const sandboxId = random.pick(this.#sandboxes);
      const wantsMore = this.#sandboxes.length < this.#options.maxSandboxes && random.next() < 0.1;
      if (sandboxId === undefined || wantsMore) await this.#create();
      else await this.#work(sandboxId);
      await pause(random.between(0, 150));
    }
  }

  async #work(sandboxId: string): Promise<void> {
    switch (this.#options.random.weighted(workload)) {
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

  /** Retries with the same idempotency key until the service accepts or refuses. */
  async #create(): Promise<void> {
    const { api, acknowledged } = this.#options;
    const key = this.#nextName('s');
    const ids = new Set<string>();
    acknowledged.creates.set(key, ids);
    while (!this.#isStopped()) {
      const { status, body } = await api.request('POST', '/sandboxes', { body: { name: key }, idempotencyKey: key });
      if (status === 201 || status === 200) {
        ids.add(String(body.id));
        if (body.status === 'running') this.#sandboxes.push(String(body.id));
        return;
      }
      if (status === 429) return await this.#backOff();
      if (status !== 0 && status < 500) return this.#reportUnexpected('create', key, status);
      await this.#backOff();
    }
  }

  async #command(sandboxId: string): Promise<void> {
    const { api, acknowledged, random } = this.#options;
    const token = this.#nextName('c');
    const kind = commandKinds[random.weighted({ quick: 50, failing: 10, slow: 30, large: 10 })];
    const sent = kind(token);
    const response = await api.request('POST', `/sandboxes/${sandboxId}/exec`, { body: { command: sent.command } });
    const execution = response.status === 200 ? (response.body as unknown as ExecutionBody) : undefined;
    acknowledged.commands.push({ sandboxId, token, response: execution });
    if (execution === undefined) return await this.#handleFailure('exec', sandboxId, response);
    if (execution.stdout !== sent.stdout || execution.exit_code !== sent.exitCode || execution.status !== 'completed') {
      const got = `${execution.status} ${execution.exit_code}, ${execution.stdout.length} characters`;
      acknowledged.problems.push(`${token} in ${sandboxId} returned ${got}`);
    }
  }

  async #file(sandboxId: string): Promise<void> {
    const { api, acknowledged, random } = this.#options;
    const path = this.#nextName('f');
    const content = `${path};`.repeat(random.between(1, 8_000));
    const response = await api.request('PUT', `/sandboxes/${sandboxId}/files`, { body: { path, content } });
    acknowledged.files.push({ sandboxId, path, content, acknowledged: response.status === 201 });
    if (response.status !== 201) await this.#handleFailure('write', sandboxId, response);
  }

  async #read(sandboxId: string): Promise<void> {
    const { api, acknowledged, random } = this.#options;
    const isReadable = (file: SentFile) => file.acknowledged && file.sandboxId === sandboxId;
    const file = random.pick(acknowledged.files.filter(isReadable));
    if (file === undefined) return;
    const response = await api.request('GET', `/sandboxes/${sandboxId}/files?path=${file.path}`);
    if (response.status !== 200) await this.#handleFailure('read', sandboxId, response);
    else if (response.body.content !== file.content) acknowledged.problems.push(`${file.path} has different content`);
  }

  async #extend(sandboxId: string): Promise<void> {
    const { api, acknowledged } = this.#options;
    const response = await api.request('POST', `/sandboxes/${sandboxId}/extend`, { body: { additional_minutes: 1 } });
    if (response.status !== 200) return await this.#handleFailure('extend', sandboxId, response);
    acknowledged.expiriesMs.set(sandboxId, Date.parse(String(response.body.expires_at)));
  }

  /** Retries until the service responds. */
  async #remove(sandboxId: string): Promise<void> {
    const { api, acknowledged } = this.#options;
    this.#removeFromList(sandboxId);
    acknowledged.deleteRequested.add(sandboxId);
    while (!this.#isStopped()) {
      const { status } = await api.request('DELETE', `/sandboxes/${sandboxId}`);
      if (status === 200 || status === 202) acknowledged.deleted.add(sandboxId);
      if (status === 200 || status === 202 || status === 404) return;
      if (status !== 0 && status < 500) return this.#reportUnexpected('delete', sandboxId, status);
      await this.#backOff();
    }
  }

  /** After a lost connection or a 5xx the outcome is unknown; a 404 or 409 means that the sandbox is gone. */
  async #handleFailure(what: string, sandboxId: string, { status }: ChaosResponse): Promise<void> {
    if (status === 404 || status === 409) {
      this.#options.acknowledged.reportedGone.add(sandboxId);
      this.#removeFromList(sandboxId);
    } else if (status !== 0 && status < 500) {
      this.#reportUnexpected(what, sandboxId, status);
    }
    await this.#backOff();
  }

  async #backOff(): Promise<void> {
    await pause(this.#options.random.between(200, 600));
  }

  #reportUnexpected(what: string, id: string, status: number): void {
    this.#options.acknowledged.problems.push(`${what} of ${id} returned ${status}`);
  }

  #removeFromList(sandboxId: string): void {
    const at = this.#sandboxes.indexOf(sandboxId);
    if (at >= 0) this.#sandboxes.splice(at, 1);
  }

  #nextName(kind: string): string {
    this.#nameCount += 1;
    return `${kind}-${this.#options.name}-${this.#nameCount}`;
  }
}

/** The file in a sandbox to which every command appends its token. */
export const ranPath = '/workspace/ran';

/** A command and its expected result. */
interface SampleCommand {
  readonly command: string;
  readonly stdout: string;
  readonly exitCode: number;
}

const steps = ['1', '2', '3', '4', '5'];

/** The kinds of commands that clients run. Each appends its token to `ranPath` first. */
const commandKinds = {
  quick: (token: string): SampleCommand => ({
    command: `echo ${token} | tee -a ${ranPath}`,
    stdout: `${token}\n`,
    exitCode: 0,
  }),
  failing: (token: string): SampleCommand => ({
    command: `echo ${token} >> ${ranPath}; exit 3`,
    stdout: '',
    exitCode: 3,
  }),
  slow: (token: string): SampleCommand => ({
    command: `echo ${token} >> ${ranPath}; for i in ${steps.join(' ')}; do echo ${token} $i; sleep 0.4; done`,
    stdout: steps.map((step) => `${token} ${step}\n`).join(''),
    exitCode: 0,
  }),
  large: (token: string): SampleCommand => ({
    command: `echo ${token} >> ${ranPath}; head -c 300000 /dev/zero | tr '\\0' x; echo ${token}`,
    stdout: `${'x'.repeat(300_000)}${token}\n`,
    exitCode: 0,
  }),
} as const;
