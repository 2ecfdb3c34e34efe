import type { Duplex } from 'node:stream';
import {
  type ExecuteRequest,
  type ExecuteResult,
  type GuestAgent,
  type GuestHello,
  type GuestIdentity,
  type GuestListing,
  GuestRefusal,
  type GuestStats,
  type LiveOutput,
  type LiveRequest,
  type Reserve,
  type TerminalChannel,
} from '../../core/ports/guest-agent.ts';
import type { TerminalSize } from '../../core/ports/screens.ts';
import { executionSink } from '../answers/execution-sink.ts';
import { listingBytes, listingSink } from '../answers/listing-sink.ts';
import { fileDeleted, fileWritten, helloAnswer, statsAnswer, terminalList } from '../answers/schemas.ts';
import { emptySink, fileSink, jsonSink } from '../answers/sinks.ts';
import { type Connection, Liveness } from '../attach/connection.ts';
import type { GuestDeadlines } from '../guest-limits.ts';
import { correctClock, sendIdentity, type WallClock } from './clock.ts';
import { exchange, isRefusal } from './exchange.ts';
import { openLive } from './live.ts';
import { openTerminal } from './terminal.ts';
import { openTunnel } from './tunnel.ts';

/** Node fires longer timers immediately. */
const longestTimerMs = 2 ** 31 - 1;

/** The service's end of an attached agent, over HTTP/2. */
export class Http2GuestAgent implements GuestAgent {
  readonly closed: Promise<void>;
  readonly #connection: Connection;
  readonly #deadlines: GuestDeadlines;
  readonly #now: WallClock;
  readonly #liveness: Liveness;

  constructor(connection: Connection, deadlines: GuestDeadlines, now: WallClock) {
    this.closed = connection.closed;
    this.#connection = connection;
    this.#deadlines = deadlines;
    this.#now = now;
    this.#liveness = new Liveness(connection, deadlines.pingIntervalMs, deadlines.pingAnswerMs);
  }

  hello(deadlineMs: number = this.#deadlines.smallCallMs): Promise<GuestHello> {
    return exchange(this.#connection, { method: 'GET', path: '/hello', deadlineMs }, () => jsonSink(helloAnswer));
  }

  setIdentity(identity: GuestIdentity, deadlineMs: number = this.#deadlines.smallCallMs): Promise<void> {
    return sendIdentity(this.#connection, identity, deadlineMs, this.#now);
  }

  setExpiry(expiresAtMs: number): Promise<void> {
    const body = Buffer.from(JSON.stringify({ expires_at_ms: expiresAtMs }));
    const call = { method: 'POST', path: '/expiry', body, deadlineMs: this.#deadlines.smallCallMs } as const;
    return exchange(this.#connection, call, emptySink);
  }

  setClock(): Promise<void> {
    return correctClock(this.#connection, this.#deadlines.smallCallMs, this.#now);
  }

  stats(): Promise<GuestStats> {
    const request = { method: 'GET', path: '/figures', deadlineMs: this.#deadlines.smallCallMs } as const;
    return exchange(this.#connection, request, () => jsonSink(statsAnswer));
  }

  execute(request: ExecuteRequest): Promise<ExecuteResult> {
    const body = executionBody(request, { stdin: false });
    const deadlineMs = request.timeoutMs + this.#deadlines.executeGraceMs;
    const call = { method: 'POST', path: '/executions', body, deadlineMs } as const;
    return this.#liveness.during(
      exchange(this.#connection, call, () => executionSink(request.captureBytes, request.reserve)),
    );
  }

  resumeExecution(id: string, captureBytes: number, reserve?: Reserve): Promise<ExecuteResult> {
    const path = `/executions/${encodeURIComponent(id)}`;
    const call = { method: 'GET', path, deadlineMs: this.#deadlines.resumeMs } as const;
    return this.#liveness.during(exchange(this.#connection, call, () => executionSink(captureBytes, reserve)));
  }

  startLive(request: LiveRequest): Promise<LiveOutput> {
    const body = executionBody(request, { spool_bytes: request.spoolBytes, stdin: request.stdin });
    const call = { method: 'POST', path: '/live', body, deadlineMs: this.#deadlines.executeGraceMs } as const;
    return openLive(this.#connection, this.#liveness, call);
  }

  continueLive(id: string, afterBytes: number): Promise<LiveOutput> {
    const path = `/live/${encodeURIComponent(id)}?after=${afterBytes}`;
    const call = { method: 'GET', path, deadlineMs: this.#deadlines.smallCallMs } as const;
    return openLive(this.#connection, this.#liveness, call);
  }

  awaitLiveEnd(id: string, captureBytes: number, reserve?: Reserve): Promise<ExecuteResult> {
    const path = `/executions/${encodeURIComponent(id)}?late=1`;
    const call = { method: 'GET', path, deadlineMs: longestTimerMs } as const;
    return this.#liveness.during(exchange(this.#connection, call, () => executionSink(captureBytes, reserve)));
  }

  writeStdin(id: string, bytes: Uint8Array, close: boolean): Promise<void> {
    const path = `/executions/${encodeURIComponent(id)}/stdin?close=${close ? 1 : 0}`;
    const body = bytes.length === 0 ? {} : { body: Buffer.from(bytes) };
    const call = { method: 'POST', path, ...body, deadlineMs: this.#deadlines.executeGraceMs } as const;
    return exchange(this.#connection, call, emptySink);
  }

  startTerminal(id: string, { cols, rows }: TerminalSize, cwd: string): Promise<TerminalChannel> {
    const path = fileCall('/terminals', { id, cols, rows, cwd });
    return openTerminal(this.#connection, this.#liveness, path, this.#deadlines.executeGraceMs);
  }

  viewTerminal(id: string, afterBytes: number): Promise<TerminalChannel> {
    const path = fileCall(`/terminals/${encodeURIComponent(id)}`, { after: afterBytes });
    return openTerminal(this.#connection, this.#liveness, path, this.#deadlines.smallCallMs);
  }

  async listTerminals(): Promise<readonly string[]> {
    const call = { method: 'GET', path: '/terminals', deadlineMs: this.#deadlines.smallCallMs } as const;
    const { terminals } = await exchange(this.#connection, call, () => jsonSink(terminalList));
    return terminals;
  }

  endTerminal(id: string): Promise<void> {
    return this.#forget(`/terminals/${encodeURIComponent(id)}`);
  }

  signalExecution(id: string, signal: number): Promise<void> {
    const path = `/executions/${encodeURIComponent(id)}/kill`;
    const body = Buffer.from(JSON.stringify({ signal }));
    const call = { method: 'POST', path, body, deadlineMs: this.#deadlines.smallCallMs } as const;
    return exchange(this.#connection, call, emptySink);
  }

  /** Resolves even if the agent does not know the execution. */
  forgetExecution(id: string): Promise<void> {
    return this.#forget(`/executions/${encodeURIComponent(id)}`);
  }

  async readFile(path: string, maxBytes: number, reserve?: Reserve): Promise<Buffer> {
    const call = fileCall('/files', { path, max_bytes: maxBytes });
    const request = { method: 'GET', path: call, deadlineMs: this.#fileMs(maxBytes) } as const;
    return exchange(this.#connection, request, (head) => fileSink(head, maxBytes, reserve));
  }

  async writeFile(path: string, body: Buffer, maxBytes: number): Promise<{ readonly sizeBytes: number }> {
    if (body.length > maxBytes) throw new GuestRefusal('too_large', `the file is larger than ${maxBytes} bytes`);
    const call = fileCall('/files', { path, max_bytes: maxBytes });
    const request = { method: 'PUT', path: call, body, deadlineMs: this.#fileMs(maxBytes) } as const;
    return exchange(this.#connection, request, () => jsonSink(fileWritten));
  }

  async listFiles(path: string, maxEntries: number, reserve?: Reserve): Promise<GuestListing> {
    const call = fileCall('/files/list', { path, max_entries: maxEntries });
    const request = { method: 'GET', path: call, deadlineMs: this.#fileMs(listingBytes(maxEntries)) } as const;
    return exchange(this.#connection, request, () => listingSink(maxEntries, reserve));
  }

  async deleteFile(path: string, recursive: boolean): Promise<void> {
    const { removeTreeMs, smallCallMs } = this.#deadlines;
    const call = {
      method: 'DELETE',
      path: fileCall('/files', { path, recursive: recursive ? 1 : 0 }),
      deadlineMs: recursive ? removeTreeMs : smallCallMs,
    } as const;
    return this.#liveness.during(exchange(this.#connection, call, () => jsonSink(fileDeleted)));
  }

  openTunnel(port: number): Promise<Duplex> {
    return openTunnel(this.#connection, port, this.#deadlines.smallCallMs);
  }

  close(): void {
    this.#connection.end('the service closed the connection');
  }

  /** Deletes something that may be gone already. */
  async #forget(path: string): Promise<void> {
    const call = { method: 'DELETE', path, deadlineMs: this.#deadlines.smallCallMs } as const;
    try {
      await exchange(this.#connection, call, emptySink);
    } catch (error) {
      if (!isRefusal(error, 'not_found')) throw error;
    }
  }

  #fileMs(maxBytes: number): number {
    const transferMs = Math.ceil((maxBytes / this.#deadlines.slowestBytesPerSecond) * 1_000);
    return Math.min(this.#deadlines.smallCallMs + transferMs, longestTimerMs);
  }
}

/** The body of a request that starts a command. */
function executionBody(request: ExecuteRequest | LiveRequest, more: object): Buffer {
  const { id, command, cwd, env, timeoutMs, captureBytes } = request;
  return Buffer.from(
    JSON.stringify({ id, command, cwd, env, timeout_ms: timeoutMs, capture_bytes: captureBytes, ...more }),
  );
}

/** The path of a file request, with its parameters percent-encoded as UTF-8. */
function fileCall(request: string, parameters: Readonly<Record<string, string | number>>): string {
  const pairs = Object.entries(parameters).map(([name, value]) => {
    const text = String(value);
    if (!text.isWellFormed()) throw new GuestRefusal('bad_request', `the ${name} is not valid Unicode`);
    return `${name}=${encodeURIComponent(text)}`;
  });
  return `${request}?${pairs.join('&')}`;
}
