import { z } from 'zod';

/**
 * The longest QMP message that is accepted. The longest that Mayfly asks for lists the layers of a disk (query-named-block-nodes): QEMU 10 sends 29 KiB for nine layers and paths of
 * 60 characters, 42 KiB for paths of 150. A message of this size is parsed in about 20 ms, whatever is in it.
 */
export const maxLineBytes = 256 * 1024;

const event = z.object({
  event: z.string().max(128),
  data: z.record(z.string(), z.unknown()).default({}),
  /** When it happened, by the host's clock. */
  timestamp: z.object({ seconds: z.number(), microseconds: z.number() }).optional().catch(undefined),
});
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
  if (!line.startsWith('{')) return { kind: 'unknown' };
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
