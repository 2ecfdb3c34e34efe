const smallestSlabBytes = 4_096;
const largestSlabBytes = 1024 * 1024;

/** Collects chunks of any size up to a limit. A million one-byte chunks use no more memory than their bytes. */
export class ByteCollector {
  readonly #limitBytes: number;
  readonly #full: Buffer[] = [];
  #slab: Buffer;
  #used = 0;
  #length = 0;

  /** `expectedBytes` is a hint. If it is right, no byte is copied twice. */
  constructor(limitBytes: number, expectedBytes = 0) {
    this.#limitBytes = limitBytes;
    this.#slab = Buffer.allocUnsafeSlow(Math.min(expectedBytes, limitBytes));
  }

  get length(): number {
    return this.#length;
  }

  /** Returns false and takes nothing if the chunk would exceed the limit. */
  push(chunk: Buffer): boolean {
    if (this.#length + chunk.length > this.#limitBytes) return false;
    let taken = 0;
    while (taken < chunk.length) {
      if (this.#used === this.#slab.length) this.#nextSlab(chunk.length - taken);
      const copied = chunk.copy(this.#slab, this.#used, taken);
      taken += copied;
      this.#used += copied;
    }
    this.#length += chunk.length;
    return true;
  }

  /** All bytes as one buffer. */
  concat(): Buffer {
    const last = this.#slab.subarray(0, this.#used);
    return this.#full.length === 0 ? last : Buffer.concat([...this.#full, last], this.#length);
  }

  #nextSlab(neededBytes: number): void {
    if (this.#used > 0) this.#full.push(this.#slab);
    const bytes = Math.max(smallestSlabBytes, neededBytes, Math.min(this.#length, largestSlabBytes));
    this.#slab = Buffer.allocUnsafeSlow(bytes);
    this.#used = 0;
  }
}
