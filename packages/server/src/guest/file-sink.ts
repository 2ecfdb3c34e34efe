import { ByteCollector } from './byte-collector.ts';
import { ProtocolViolation } from './protocol-violation.ts';
import type { AnswerHead, Sink } from './sink.ts';

/** Reads the bytes of a file. What arrives counts: `mayfly-size` only sizes the buffer, since kernel files tell no true size. */
export function fileSink(
  head: AnswerHead,
  maxBytes: number,
): Sink<{ readonly sizeBytes: number; readonly content: Buffer }> {
  const told = head.header('mayfly-size') ?? '';
  if (!/^[0-9]{1,15}$/.test(told)) throw new ProtocolViolation('a file without its size');
  const toldBytes = Number(told);
  if (toldBytes > maxBytes) throw new ProtocolViolation('a file larger than was asked for');
  const bytes = new ByteCollector(maxBytes, toldBytes);
  return {
    push(chunk) {
      if (!bytes.push(chunk)) throw new ProtocolViolation('more of a file than was asked for');
    },
    finish: () => ({ sizeBytes: bytes.length, content: bytes.concat() }),
  };
}
