import type { TerminalSize } from '../core/ports/screens.ts';

/** What the worker is started with. */
export interface WorkerSettings {
  /** One 32-bit integer: the id of the screen whose output is being processed, 0 for none. It outlives the worker. */
  readonly current: SharedArrayBuffer;
  /** CPU time of one turn, in milliseconds. A screen that needs more is given up. */
  readonly maxTurnCpuMs: number;
}

/** To the worker. Ids are positive 32-bit integers. */
export type Request =
  /** Also resets a screen that is open. */
  | { readonly kind: 'open'; readonly id: number; readonly size: TerminalSize }
  | { readonly kind: 'write'; readonly id: number; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'resize'; readonly id: number; readonly size: TerminalSize }
  | { readonly kind: 'show'; readonly id: number; readonly show: number }
  | { readonly kind: 'close'; readonly id: number };

/** From the worker. */
export type Answer =
  /** So many bytes of a screen were processed, or dropped by a reset. */
  | { readonly kind: 'processed'; readonly id: number; readonly bytes: number }
  /** The answer to a show; undefined if the screen cannot be shown from its emulator. */
  | { readonly kind: 'shown'; readonly show: number; readonly bytes: Uint8Array<ArrayBuffer> | undefined }
  /** The output of this screen costs too much. It is no longer emulated. */
  | { readonly kind: 'given-up'; readonly id: number };

/** What a change of the size counts as among the output that waits: it costs as much as some output. */
export const resizeBytes = 512;
