import type { z } from 'zod';
import { ByteCollector } from './byte-collector.ts';
import { guestLimits } from './limits.ts';
import { ProtocolViolation } from './protocol-violation.ts';
import type { Sink } from './sink.ts';

/** Guest bytes as a value of the schema, or a ProtocolViolation that quotes none of them. */
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
  throw new ProtocolViolation(`a body whose field "${where.slice(0, 64)}" is not as agreed`);
}

/** Reads a whole JSON body of bounded size. */
export function jsonSink<T>(schema: z.ZodType<T>, limitBytes: number = guestLimits.jsonBytes): Sink<T> {
  const body = new ByteCollector(limitBytes);
  return {
    push(chunk) {
      if (!body.push(chunk)) throw new ProtocolViolation(`a body of more than ${limitBytes} bytes`);
    },
    finish: () => parseGuestJson(body.concat(), schema),
  };
}

/** Reads an answer that has no body. */
export function emptySink(): Sink<void> {
  return {
    push(chunk) {
      if (chunk.length > 0) throw new ProtocolViolation('a body where none belongs');
    },
    finish: () => undefined,
  };
}
