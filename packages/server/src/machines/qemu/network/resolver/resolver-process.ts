import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';
import { machineDeadlines } from '../../../../core/ports/machine-deadlines.ts';
import { DeadlineExceeded, withDeadline } from '../../../../core/scheduling/deadline.ts';
import { type Cidr, formatAddress } from '../../../ipv4.ts';

/** The settings of mayfly-net that hold for all machines. */
export interface ResolverSettings {
  /** native/jail, in which the part of mayfly-net runs that reads packets. */
  readonly jailPath: string;
  /** The user and group of that part, which no other process may have. */
  readonly uid: number;
  readonly resolvConfPath: string;
  /** Addresses that are left out of every answer. */
  readonly refusedRanges: readonly Cidr[];
  /** Lookups of all machines together. */
  readonly lookupsPerSecond: number;
}

/** A request to mayfly-net. See native/net/internal/control. */
export interface ResolverRequest {
  readonly op: 'add' | 'policy' | 'remove';
  readonly slot: number;
  readonly netns?: string;
  readonly listen?: string;
  readonly mode?: 'all' | 'none' | 'list';
  readonly names?: readonly string[];
  readonly transaction?: string;
}

const responseSchema = z.object({ id: z.number(), error: z.string().optional() });

/** The helper exited before it responded. */
export class ResolverExited extends Error {
  override readonly name = 'ResolverExited';
}

/** Between asking the helper to exit and killing it. */
const exitDeadlineMs = 2_000;
const keptOutputChars = 2_000;

/**
 * One running mayfly-net: a root process that opens sockets and changes rules, and its child without privileges that reads packets of
 * guests and name servers. Each ends with the other.
 */
export class ResolverProcess implements AsyncDisposable {
  /** Resolves with the end of its error output when the process has exited. Never rejects. */
  readonly exited: Promise<string>;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #pending = new Map<number, PromiseWithResolvers<void>>();
  readonly #deadlineMs: number;
  #lastId = 0;

  constructor(helperPath: string, settings: ResolverSettings, deadlineMs = machineDeadlines.network.resolverMs) {
    this.#deadlineMs = deadlineMs;
    const argv = Object.entries(flagsOf(settings)).flatMap(([name, value]) => [`-${name}`, value]);
    this.#child = spawn(helperPath, argv, { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
    let lastOutput = '';
    this.#child.stderr.on('data', (chunk: Buffer) => {
      lastOutput = (lastOutput + chunk.toString()).slice(-keptOutputChars);
    });
    this.#child.stdin.on('error', () => {});
    createInterface(this.#child.stdout).on('line', (line) => this.#receive(line));
    this.exited = new Promise((resolve) => {
      this.#child.once('error', (error) => resolve(error.message));
      this.#child.once('exit', () => resolve(lastOutput.trim()));
    });
    void this.exited.then((output) => {
      for (const { reject } of this.#pending.values()) reject(new ResolverExited(`mayfly-net exited: ${output}`));
    });
  }

  /**
   * Sends a request and waits until the helper has carried it out. A helper that does not respond to a new policy in time is killed: a policy
   * that was reported as failed must not take effect later.
   */
  async request(request: ResolverRequest): Promise<void> {
    const id = ++this.#lastId;
    const response = Promise.withResolvers<void>();
    this.#pending.set(id, response);
    this.#child.stdin.write(`${JSON.stringify({ id, ...request })}\n`, (error) => {
      if (!error) return;
      void this.exited.then((output) => response.reject(new ResolverExited(`mayfly-net exited: ${output}`)));
    });
    try {
      await withDeadline(`The ${request.op} request to mayfly-net`, this.#deadlineMs, response.promise);
    } catch (error) {
      if (error instanceof DeadlineExceeded && request.op === 'policy') this.#child.kill('SIGKILL');
      throw error;
    } finally {
      this.#pending.delete(id);
    }
  }

  #receive(line: string): void {
    const response = parseResponse(line);
    if (!response) {
      // Without readable responses the helper is useless. Its exit starts another one.
      this.#child.kill('SIGKILL');
      return;
    }
    const pending = this.#pending.get(response.id);
    if (response.error === undefined) pending?.resolve();
    else pending?.reject(new Error(`mayfly-net: ${response.error}`));
  }

  /** Stops the process, which closes its sockets in the machines' namespaces. */
  async [Symbol.asyncDispose](): Promise<void> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), exitDeadlineMs);
    this.#child.stdin.end();
    await this.exited;
    clearTimeout(timer);
  }
}

/** The arguments of mayfly-net. See native/net/main.go. */
function flagsOf(settings: ResolverSettings): Record<string, string> {
  const refused = settings.refusedRanges.map(({ base, prefixLength }) => `${formatAddress(base)}/${prefixLength}`);
  return {
    jail: settings.jailPath,
    uid: String(settings.uid),
    'resolv-conf': settings.resolvConfPath,
    refuse: refused.join(','),
    'lookups-per-second': String(settings.lookupsPerSecond),
  };
}

function parseResponse(line: string): z.infer<typeof responseSchema> | undefined {
  try {
    return responseSchema.parse(JSON.parse(line));
  } catch {
    return undefined;
  }
}
