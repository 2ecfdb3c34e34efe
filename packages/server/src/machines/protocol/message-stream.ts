import type { Socket } from 'node:net';
import type { z } from 'zod';
import { LineSplitter } from './line-splitter.ts';

/** The other side sent a line that is not a message: too long, not JSON, or not what the schema allows. */
export class MalformedMessage extends Error {
  override readonly name = 'MalformedMessage';
}

/**
 * Reads the lines of a connection one after the other. While nobody asks for the next line, nothing is read, so a sender of too much has to
 * wait: at most one line and one chunk of the socket are in memory. Throws MalformedMessage.
 */
export async function* readLines(socket: Socket, maxLineBytes: number): AsyncGenerator<string, void, undefined> {
  const splitter = new LineSplitter(maxLineBytes);
  for await (const chunk of socket as AsyncIterable<Buffer>) yield* splitLines(splitter, chunk);
}

function splitLines(splitter: LineSplitter, chunk: Buffer): string[] {
  try {
    return splitter.push(chunk);
  } catch (cause) {
    throw new MalformedMessage('the line is too long', { cause });
  }
}

/** Parses one line. Throws MalformedMessage without a part of the line in its text. */
export function parseMessage<T>(line: string, schema: z.ZodType<T>): T {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new MalformedMessage('the line is not JSON');
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new MalformedMessage('the line does not match the schema of its message');
}

/** Sends one message. Does nothing on a connection that is closed. */
export function sendMessage(socket: Socket, message: object): void {
  if (socket.writable) socket.write(`${JSON.stringify(message)}\n`);
}
