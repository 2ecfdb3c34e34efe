import { ApiError } from '../api/api-error.ts';
import type { SandboxInfo } from '../api/resources.ts';
import { SandboxEndedError } from '../errors.ts';
import { type Call, type Connection, path } from '../http/connection.ts';
import { request, requestRemoval } from '../http/request.ts';

/** Errors that the end of a sandbox can cause. */
const endTypes: ReadonlySet<string> = new Set(['not_found', 'sandbox_not_running', 'execution_failed']);
const explainMs = 10_000;

/** Makes the requests of one sandbox. Their errors say why the sandbox has ended, if it has. */
export class SandboxCaller {
  readonly connection: Connection;
  readonly id: string;

  constructor(connection: Connection, id: string) {
    this.connection = connection;
    this.id = id;
  }

  /** Makes a request with a path below the path of the sandbox. */
  request<Body>(call: Call): Promise<Body> {
    return this.explained(request(this.connection, { ...call, path: this.#path(call.path) }));
  }

  /** Removes something of the sandbox, or with an empty path the sandbox itself. */
  remove(call: Omit<Call, 'method' | 'repeatable'>): Promise<void> {
    return this.explained(requestRemoval(this.connection, { ...call, path: this.#path(call.path) }));
  }

  /** Waits for work of this sandbox. If it fails because the sandbox has ended, throws a SandboxEndedError. */
  async explained<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await work;
    } catch (error) {
      throw await this.explain(error);
    }
  }

  /** Returns a SandboxEndedError if the sandbox has ended, and otherwise the error as it is. */
  async explain(error: unknown): Promise<unknown> {
    if (!(error instanceof ApiError) || !endTypes.has(error.type)) return error;
    const times = { requestTimeoutMs: explainMs, deadlineMs: explainMs };
    const call = { method: 'GET', path: path`/sandboxes/${this.id}`, repeatable: true, ...times } as const;
    const sandbox = await request<SandboxInfo>(this.connection, call).catch(() => undefined);
    const hasEnded = sandbox !== undefined && ['deleting', 'deleted', 'failed'].includes(sandbox.status);
    return hasEnded ? new SandboxEndedError(sandbox, error) : error;
  }

  #path(below: string): string {
    return path`/sandboxes/${this.id}` + below;
  }
}
