import { fromApi } from '../api/casing.ts';
import type { SandboxInfo } from '../api/resources.ts';
import { SandboxEndedError } from '../errors.ts';
import { orCleanUp } from '../http/cleanup.ts';
import { type Call, type Connection, path, type RequestOptions } from '../http/connection.ts';
import { type Listing, listing } from '../http/pages.ts';
import { isUncertain, request, requestJson, requestRemoval } from '../http/request.ts';
import { newIdempotencyKey } from './idempotency-key.ts';
import { Sandbox } from './sandbox.ts';

export interface CreateOptions extends RequestOptions {
  /** `small` unless given; a copy of a snapshot has the size of the snapshot. */
  readonly size?: SandboxInfo['size'] | undefined;
  /** A label of your choice. */
  readonly name?: string | undefined;
  /** After how many minutes the sandbox is destroyed. 15 unless given. */
  readonly lifetimeMinutes?: number | undefined;
  /** Makes the sandbox a copy of this snapshot. */
  readonly snapshotId?: string | undefined;
  /** Makes the sandbox a copy of the snapshot with this alias. */
  readonly template?: string | undefined;
  /** Identifies this create: repeating it returns the same sandbox. Made for you unless given, and kept over retries. */
  readonly idempotencyKey?: string | undefined;
}

export interface ListOptions extends RequestOptions {
  /** Whether to include sandboxes that were deleted or have expired. */
  readonly includeDeleted?: boolean | undefined;
}

/** The sandboxes of the account. */
export class Sandboxes {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Creates a sandbox and returns it when it is ready. A create that fails or is aborted leaves no sandbox. Throws a SandboxEndedError if the
   * sandbox of `idempotencyKey` is not running any more.
   */
  async create(options: CreateOptions = {}): Promise<Sandbox> {
    const { size, name, lifetimeMinutes, snapshotId, template, idempotencyKey, ...others } = options;
    const call: Call = {
      method: 'POST',
      path: '/sandboxes',
      body: { size, name, timeout_minutes: lifetimeMinutes, snapshot_id: snapshotId, template },
      headers: { 'idempotency-key': idempotencyKey ?? newIdempotencyKey() },
      repeatable: true,
      finishesAttempts: true,
      slow: true,
      ...others,
    };
    let mayExist = false;
    const onFailure = (error: unknown) => {
      mayExist ||= isUncertain(error);
    };
    const creating = requestJson(this.#connection, { ...call, onFailure });
    // The 200 of a key that the caller chose may be the sandbox of an earlier create, which is not ours to delete.
    const isOurs = (status: number) => idempotencyKey === undefined || status === 201;
    const created = await orCleanUp(creating, options.signal, async () => {
      const left = await creating.catch((error: unknown) => {
        if (mayExist) return this.#replay(call);
        throw error;
      });
      if (isOurs(left.status)) await this.delete((left.body as { id: string }).id);
    });
    const info = fromApi(created.body) as SandboxInfo;
    // The sandbox of a key that was used before may have ended.
    if (info.status !== 'running') throw new SandboxEndedError(info);
    return new Sandbox(this.#connection, info);
  }

  /** A handle of a sandbox that exists, from any process. Throws a NotFoundError if it does not. */
  async get(id: string, options: RequestOptions = {}): Promise<Sandbox> {
    const call = { method: 'GET', path: path`/sandboxes/${id}`, repeatable: true, ...options } as const;
    return new Sandbox(this.#connection, await request<SandboxInfo>(this.#connection, call));
  }

  /** The sandboxes, newest first. Iterate over them, or get all with `all()`. */
  list({ includeDeleted, ...options }: ListOptions = {}): Listing<Sandbox> {
    const call = { path: '/sandboxes', query: { include_deleted: includeDeleted }, ...options };
    return listing(this.#connection, call, (info: SandboxInfo) => new Sandbox(this.#connection, info));
  }

  /** Destroys a sandbox and everything in it. Throws a NotFoundError if there is none. */
  async delete(id: string, options: RequestOptions = {}): Promise<void> {
    await requestRemoval(this.#connection, { path: path`/sandboxes/${id}`, ...options });
  }

  /**
   * Asks once more for a create whose outcome is not known. Its key makes it the same sandbox. If there was none, this creates one, which lives for
   * a minute should the program end before it is deleted.
   */
  #replay(call: Call) {
    const body = { ...(call.body as object), timeout_minutes: 1 };
    return requestJson(this.#connection, { ...call, body, signal: undefined, maxRetries: 0, requestTimeoutMs: 60_000 });
  }
}
