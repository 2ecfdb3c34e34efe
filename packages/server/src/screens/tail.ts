const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

/** The most bytes that follow the first byte of a UTF-8 character. */
const maxContinuationBytes = 3;

/** The last bytes of a stream, in a ring: a write copies only what was written. */
export class Tail {
  readonly #ring: Uint8Array;
  /** Where the next byte goes. */
  #next = 0;
  #length = 0;
  #isCut = false;

  constructor(capacityBytes: number) {
    this.#ring = new Uint8Array(capacityBytes);
  }

  get length(): number {
    return this.#length;
  }

  push(bytes: Uint8Array): void {
    const capacity = this.#ring.length;
    this.#isCut ||= this.#length + bytes.length > capacity;
    const kept = bytes.subarray(Math.max(0, bytes.length - capacity));
    const beforeEnd = kept.subarray(0, capacity - this.#next);
    this.#ring.set(beforeEnd, this.#next);
    this.#ring.set(kept.subarray(beforeEnd.length), 0);
    this.#next = (this.#next + kept.length) % capacity;
    this.#length = Math.min(capacity, this.#length + kept.length);
  }

  clear(): void {
    this.#next = 0;
    this.#length = 0;
    this.#isCut = false;
  }

  /** Returns a copy of the last `count` bytes; fewer if fewer are kept. */
  last(count: number): Uint8Array<ArrayBuffer> {
    const length = Math.min(count, this.#length);
    const start = this.#next - length;
    const copy = new Uint8Array(length);
    if (start >= 0) {
      copy.set(this.#ring.subarray(start, this.#next));
    } else {
      copy.set(this.#ring.subarray(start));
      copy.set(this.#ring.subarray(0, this.#next), -start);
    }
    return copy;
  }

  /** Returns a copy of all bytes that are kept. If earlier ones were dropped, it does not begin inside a UTF-8 character. */
  text(): Uint8Array<ArrayBuffer> {
    const bytes = this.last(this.#length);
    let start = 0;
    if (this.#isCut) while (start < maxContinuationBytes && isContinuation(bytes[start])) start++;
    return start === 0 ? bytes : bytes.slice(start);
  }
}
