import { isAscii } from 'node:buffer';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import type { BodyBudgets } from '../../core/budgets/held-body.ts';
import { HeldBody } from '../../core/budgets/held-body.ts';
import { uncountedBytes } from '../../core/budgets/held-result.ts';
import { ApiError } from '../../core/errors/api-error.ts';
import type { Metrics } from '../../core/ports/metrics.ts';
import { pathNotFound } from '../access.ts';
import type { HttpApp } from '../http-app.ts';
import { SlowBody } from './slow-body.ts';

/** What reading bodies needs. */
export interface ReadBodyNeeds {
  readonly budgets: BodyBudgets;
  readonly metrics: Metrics;
}

const initialBytes = 65_536;
/** After a refusal, this much more of the body is read and discarded before the connection is cut. */
const maxDiscardedBytes = 64 * 1024 * 1024;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Parses every body as JSON, whatever its Content-Type. A body of white space counts as no body. */
export function addJsonBodyParser(app: HttpApp, core: ReadBodyNeeds, maxBytes: number): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) =>
    readJsonBody(core, request, payload, maxBytes),
  );
}

/**
 * Reads and parses the body of an account's request; undefined if it is empty. A large one is read only when there is room for all of it, which it holds
 * until the response is sent. Fails with 413 if it is over `maxBytes`, with 400 if it is not JSON, with 429 if there is no room.
 */
export async function readJsonBody(
  core: ReadBodyNeeds,
  request: FastifyRequest,
  payload: IncomingMessage,
  maxBytes: number,
): Promise<unknown> {
  const { account, headers, response, watchedBody } = request;
  if (account === undefined) {
    // Only paths that no operation has are reached without a key. Nothing of a stranger's body is kept.
    discardRest(payload);
    throw pathNotFound();
  }
  let held: HeldBody | undefined;
  const admit = async (bytes: number) => {
    const body = new HeldBody(core.budgets, account.id);
    held = body;
    const release = () => body[Symbol.dispose]();
    response.once('finish', release).once('close', release);
    if (response.destroyed) release();
    watchedBody?.pause();
    try {
      await body.admit(bytes);
    } catch (error) {
      if (error instanceof ApiError) core.metrics.rateLimited('uploads');
      throw error;
    } finally {
      watchedBody?.resume();
    }
  };
  const body = await readBody(payload, headers, { maxBytes, admit });
  held?.shrinkTo(body.length);
  return parseJson(body);
}

/** The largest body of somebody who is not signed in. */
export const smallBytes = 16_384;

/** Reads and parses the body of a request that needs neither key nor session. Fails with 413 if it is not small, with 400 if it is not JSON. */
export async function readSmallJsonBody(
  payload: IncomingMessage,
  headers: Pick<IncomingHttpHeaders, 'content-length'>,
): Promise<unknown> {
  return parseJson(await readBody(payload, headers, { maxBytes: smallBytes, admit: async () => {} }));
}

/** Parses JSON encoded as UTF-8; undefined if there is only white space. */
function parseJson(json: Buffer): unknown {
  try {
    // Most bodies are ASCII, also files in base64. For those this is five times as fast as decoding UTF-8.
    const text = isAscii(json) ? json.toString('latin1') : utf8.decode(json);
    return text.trim() === '' ? undefined : JSON.parse(text);
  } catch (cause) {
    throw new ApiError('request_error', 'The body is not valid JSON. Send a JSON object encoded as UTF-8.', { cause });
  }
}

interface BodyLimits {
  readonly maxBytes: number;
  /** Waits for room for a body of up to this size. */
  readonly admit: (bytes: number) => Promise<void>;
}

/**
 * Reads a whole body into one buffer. Fails with 413 as soon as the body is known to be larger than `maxBytes`. Of a body that is not admitted the rest is
 * discarded.
 */
export async function readBody(
  source: Readable,
  headers: Pick<IncomingHttpHeaders, 'content-length'>,
  { maxBytes, admit }: BodyLimits,
): Promise<Buffer> {
  const declaredBytes = Number(headers['content-length'] ?? 0);
  if (declaredBytes > maxBytes) throw bodyTooLarge(source, maxBytes);
  let admittedBytes = uncountedBytes;
  const admitUpTo = async (bytes: number) => {
    await admit(bytes).catch((error: unknown) => {
      discardRest(source);
      throw error;
    });
    admittedBytes = bytes;
  };
  if (declaredBytes > admittedBytes) await admitUpTo(declaredBytes);
  let buffer = Buffer.allocUnsafeSlow(Math.min(initialBytes, declaredBytes || initialBytes, maxBytes));
  let length = 0;
  try {
    for await (const chunk of source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      const start = length;
      length += chunk.length;
      if (length > maxBytes) break;
      // A body of unknown size may become as large as any.
      if (length > admittedBytes) await admitUpTo(maxBytes);
      if (length > buffer.length) {
        // The declared length is allocated only after data has arrived: an idle sender must not cost memory.
        const neededBytes = declaredBytes >= length ? declaredBytes : 2 * length;
        buffer = grow(buffer, start, Math.min(neededBytes, maxBytes));
      }
      chunk.copy(buffer, start);
    }
  } catch (cause) {
    if (cause instanceof ApiError) throw cause;
    if (cause instanceof SlowBody) throw bodyTooSlow(cause);
    throw new ApiError('request_error', 'The body ended before it was complete. Send the request again.', { cause });
  }
  if (length > maxBytes) throw bodyTooLarge(source, maxBytes);
  return buffer.subarray(0, length);
}

function bodyTooSlow(cause: SlowBody): ApiError {
  return new ApiError('request_error', 'The request did not arrive in time. Send it again.', { status: 408, cause });
}

/** Copies the first `length` bytes into a larger buffer. */
function grow(buffer: Buffer, length: number, bytes: number): Buffer<ArrayBuffer> {
  const larger = Buffer.allocUnsafeSlow(bytes);
  buffer.copy(larger, 0, 0, length);
  return larger;
}

/** Discards the rest of a body, so that a client that reads only after sending everything still gets the response. */
function discardRest(source: Readable): void {
  let leftBytes = maxDiscardedBytes;
  source.on('error', () => {});
  source.on('data', (chunk: Buffer) => {
    leftBytes -= chunk.length;
    if (leftBytes < 0) source.destroy();
  });
}

function bodyTooLarge(source: Readable, maxBytes: number): ApiError {
  discardRest(source);
  return new ApiError('request_error', `The body is larger than the limit of ${maxBytes} bytes.`, {
    status: 413,
  });
}
