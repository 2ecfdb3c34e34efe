import { z } from 'zod';

/** The longest QMP message that is accepted. QEMU's answers to the commands Mayfly sends are far shorter. */
export const maxLineBytes = 1024 * 1024;

/** Chunks of an unfinished line are joined beyond this number, because each costs far more memory than its bytes. */
const maxChunks = 256;

/** Splits a byte stream into lines. Throws on a line longer than maxLineBytes, so that a compromised QEMU cannot exhaust the service's memory. */
export class LineSplitter {
  #unfinished: Buffer[] = [];
  #unfinishedBytes = 0;

  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let from = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      this.#append(chunk.subarray(from, at));
      lines.push(Buffer.concat(this.#unfinished).toString('utf8').trim());
      this.#unfinished = [];
      this.#unfinishedBytes = 0;
      from = at + 1;
    }
    this.#append(chunk.subarray(from));
    return lines.filter((line) => line !== '');
  }

  #append(part: Buffer): void {
    if (part.length === 0) return;
    this.#unfinishedBytes += part.length;
    if (this.#unfinishedBytes > maxLineBytes) throw new Error(`QMP line longer than ${maxLineBytes} bytes`);
    this.#unfinished.push(part);
    if (this.#unfinished.length > maxChunks) this.#unfinished = [Buffer.concat(this.#unfinished)];
  }
}

const event = z.object({ event: z.string().max(128), data: z.record(z.string(), z.unknown()).default({}) });
const success = z.object({ return: z.unknown(), id: z.number().int() });
const failure = z.object({ error: z.object({ class: z.string(), desc: z.string() }), id: z.number().int() });
const greeting = z.object({ QMP: z.record(z.string(), z.unknown()) });

export type QmpEvent = z.infer<typeof event>;

/** A message from QEMU's monitor. */
export type QmpMessage =
  | { readonly kind: 'greeting' }
  | { readonly kind: 'event'; readonly event: QmpEvent }
  | { readonly kind: 'success'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'failure'; readonly id: number; readonly message: string }
  | { readonly kind: 'unknown' };

/** Parses one line. Never throws: a line that is not QMP is `unknown`. */
export function parseQmpMessage(line: string): QmpMessage {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { kind: 'unknown' };
  }
  const asSuccess = success.safeParse(value);
  if (asSuccess.success && value !== null && typeof value === 'object' && 'return' in value) {
    return { kind: 'success', id: asSuccess.data.id, value: asSuccess.data.return };
  }
  const asEvent = event.safeParse(value);
  if (asEvent.success) return { kind: 'event', event: asEvent.data };
  const asFailure = failure.safeParse(value);
  if (asFailure.success) {
    return { kind: 'failure', id: asFailure.data.id, message: asFailure.data.error.desc.slice(0, 1024) };
  }
  return greeting.safeParse(value).success ? { kind: 'greeting' } : { kind: 'unknown' };
}
