const ctrlP = 0x10;
const ctrlQ = 0x11;
/** How long a Ctrl-P waits for the key that follows it. */
export const holdMs = 400;

/** Passes on what is typed, except Ctrl-P Ctrl-Q. A Ctrl-P is held back until the next key, or for a moment. */
export class DetachKeys {
  readonly #type: (bytes: Uint8Array) => void;
  readonly #detach: () => void;
  #held: NodeJS.Timeout | undefined;

  constructor({ type, detach }: { type: (bytes: Uint8Array) => void; detach: () => void }) {
    this.#type = type;
    this.#detach = detach;
  }

  push(bytes: Uint8Array): void {
    if (this.#held !== undefined && bytes.length > 0) {
      if (bytes[0] === ctrlQ) {
        this.#leave();
        return;
      }
      this.#release();
    }
    const sequence = bytes.findIndex((byte, index) => byte === ctrlP && bytes[index + 1] === ctrlQ);
    if (sequence >= 0) {
      if (sequence > 0) this.#type(bytes.subarray(0, sequence));
      this.#leave();
      return;
    }
    const isHeld = bytes.at(-1) === ctrlP;
    const typed = isHeld ? bytes.subarray(0, -1) : bytes;
    if (typed.length > 0) this.#type(typed);
    if (isHeld) this.#held = setTimeout(() => this.#release(), holdMs);
  }

  /** Forgets a Ctrl-P that is held back. */
  close(): void {
    clearTimeout(this.#held);
    this.#held = undefined;
  }

  #release(): void {
    this.close();
    this.#type(Uint8Array.of(ctrlP));
  }

  #leave(): void {
    this.close();
    this.#detach();
  }
}
