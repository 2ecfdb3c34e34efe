/** Chunks of an unfinished line are joined beyond this number, because each costs far more memory than its bytes. */
const maxChunks = 256;

/** Splits a byte stream into lines. Throws on a line that is too long, so that its sender cannot exhaust the memory of this process. */
export class LineSplitter {
  readonly #maxLineBytes: number;
  #unfinished: Buffer[] = [];
  #unfinishedBytes = 0;

  constructor(maxLineBytes: number) {
    this.#maxLineBytes = maxLineBytes;
  }

  /** The lines that end in this chunk, without their line ends. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let from = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      this.#append(chunk.subarray(from, at));
      lines.push(Buffer.concat(this.#unfinished).toString('utf8'));
      this.#unfinished = [];
      this.#unfinishedBytes = 0;
      from = at + 1;
    }
    this.#append(chunk.subarray(from));
    return lines;
  }

  #append(part: Buffer): void {
    if (part.length === 0) return;
    this.#unfinishedBytes += part.length;
    if (this.#unfinishedBytes > this.#maxLineBytes)
      throw new Error(`a line is longer than ${this.#maxLineBytes} bytes`);
    this.#unfinished.push(part);
    if (this.#unfinished.length > maxChunks) this.#unfinished = [Buffer.concat(this.#unfinished)];
  }
}
