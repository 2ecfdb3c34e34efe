import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { HeldResult } from '../../core/budgets/held-result.ts';
import { FairTurns } from '../../core/scheduling/fair-turns.ts';

/** The JSON of a response: a string if it is small, otherwise a stream. */
export type ResponseJson = string | Readable;

/** The pieces of all responses that are made in one turn of the event loop. A piece takes 0.2 to 2 ms. */
const piecesPerTurn = 8;
/** One for the process, as the event loop is. */
const pieceTurns = new FairTurns(piecesPerTurn);

/**
 * A stream that makes its pieces only as the client reads, and a few per turn of the event loop. Neither a response that nobody reads nor
 * one that is read at full speed can then use much memory or hold up other requests.
 */
export function streamPieces(pieces: Iterator<string>): Readable {
  const pushPiece = (stream: Readable) => {
    if (stream.destroyed) return;
    try {
      const { value, done } = pieces.next();
      stream.push(done ? null : Buffer.from(value));
    } catch (error) {
      stream.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  };
  return new Readable({
    read() {
      const turn = pieceTurns.next('');
      if (turn === undefined) pushPiece(this);
      else void turn.then(() => pushPiece(this));
    },
  });
}

/** Waits for a result, and releases what is held for it if there is none. */
export async function releaseOnFailure<T>(held: HeldResult, result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    held[Symbol.dispose]();
    throw error;
  }
}

/** Sends JSON. What the request holds is released once the response is sent or its connection is gone. */
export function sendJson(reply: FastifyReply, json: ResponseJson, held: HeldResult): FastifyReply {
  const release = () => held[Symbol.dispose]();
  if (typeof json === 'string' || reply.raw.destroyed) release();
  else reply.raw.once('close', release);
  return reply.type('application/json; charset=utf-8').send(json);
}
