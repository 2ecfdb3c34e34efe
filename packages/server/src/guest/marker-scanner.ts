/** Finds the end of a marker in a byte stream that arrives in pieces; holds no more than one marker's length of it. */
export class MarkerScanner {
  readonly #marker: Buffer;
  #tail: Buffer = Buffer.alloc(0);
  #droppedBytes = 0;

  constructor(marker: Buffer) {
    if (marker.length === 0) throw new RangeError('an empty marker is everywhere');
    this.#marker = marker;
  }

  /** How many bytes were read without the marker being complete. */
  get droppedBytes(): number {
    return this.#droppedBytes;
  }

  /** What follows the marker in this chunk (possibly nothing), or undefined while the marker has not been seen. */
  push(chunk: Buffer): Buffer | undefined {
    const reach = this.#marker.length - 1;
    const border = Buffer.concat([this.#tail, chunk.subarray(0, reach)]);
    const atBorder = border.indexOf(this.#marker);
    if (atBorder >= 0) return chunk.subarray(atBorder + this.#marker.length - this.#tail.length);
    const within = chunk.indexOf(this.#marker);
    if (within >= 0) return chunk.subarray(within + this.#marker.length);
    this.#droppedBytes += chunk.length;
    const last = chunk.length >= reach ? chunk : border;
    this.#tail = Buffer.from(last.subarray(Math.max(0, last.length - reach)));
    return undefined;
  }
}
