import type { z } from 'zod';
import { GuestRefusal, NoRoom, type Reserve } from '../../core/ports/guest-agent.ts';
import { ProtocolViolation } from '../guest-errors.ts';
import { guestLimits } from '../guest-limits.ts';
import { ByteCollector } from './byte-collector.ts';
import { countAnswer } from './reserved-answer.ts';
import { refusalAnswer } from './schemas.ts';

/** Receives the body of one answer as it arrives. Both methods may throw, which fails the call with that error. */
export interface Sink<T> {
  push(chunk: Buffer): void;
  /** Called when the body is complete. */
  finish(): T;
}

/** Status and headers of an answer. Header values are untrusted. */
export interface AnswerHead {
  readonly status: number;
  header(name: string): string | undefined;
}

/** Parses guest bytes by a schema. Throws a ProtocolViolation that quotes none of them. */
export function parseGuestJson<T>(bytes: Buffer, schema: z.ZodType<T>): T {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new ProtocolViolation('a body that is not JSON');
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const where = parsed.error.issues[0]?.path.join('.') ?? '';
  throw new ProtocolViolation(`a body with an invalid field "${where.slice(0, 64)}"`);
}

/** Reads a JSON body of bounded size. */
export function jsonSink<T>(schema: z.ZodType<T>, limitBytes: number = guestLimits.jsonBytes): Sink<T> {
  const body = new ByteCollector(limitBytes);
  return {
    push(chunk) {
      if (!body.push(chunk)) throw new ProtocolViolation(`a body of more than ${limitBytes} bytes`);
    },
    finish: () => parseGuestJson(body.concat(), schema),
  };
}

/** Reads an answer without a body. */
export function emptySink(): Sink<void> {
  return {
    push(chunk) {
      if (chunk.length > 0) throw new ProtocolViolation('an unexpected body');
    },
    finish: () => undefined,
  };
}

/** Reads the content of a file. `mayfly-size` is only a hint for the buffer: files of the kernel, such as those in /proc, report a wrong size. */
export function fileSink(head: AnswerHead, maxBytes: number, reserve?: Reserve): Sink<Buffer> {
  const announced = head.header('mayfly-size') ?? '';
  if (!/^[0-9]{1,15}$/.test(announced)) throw new ProtocolViolation('a file without its size');
  const expectedBytes = Number(announced);
  if (expectedBytes > maxBytes) throw new ProtocolViolation('a file larger than requested');
  const count = countAnswer(maxBytes, reserve);
  // Asks before the buffer is allocated. The bytes themselves are counted as they arrive.
  if (expectedBytes > guestLimits.unreservedBytes && reserve?.(expectedBytes) === false) throw new NoRoom(maxBytes);
  const bytes = new ByteCollector(maxBytes, expectedBytes);
  return {
    push(chunk) {
      if (!bytes.push(chunk)) throw new ProtocolViolation('more of a file than requested');
      count(chunk.length);
    },
    finish: () => bytes.concat(),
  };
}

/** Reads the body of an answer with a status of 400 or above and throws it as a GuestRefusal. */
export function refusalSink(): Sink<never> {
  const body = jsonSink(refusalAnswer, guestLimits.errorBytes);
  return {
    push: (chunk) => body.push(chunk),
    finish() {
      const { code, message } = body.finish();
      throw new GuestRefusal(code, message.replaceAll(/\p{Cc}/gu, ' '));
    },
  };
}
