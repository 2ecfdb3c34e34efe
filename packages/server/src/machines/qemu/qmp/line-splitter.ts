/** Longest QMP message that is read; QEMU's answers to what Mayfly asks are far shorter. */
export const maxLineBytes = 1024 * 1024;

/** How many pieces of a line are held apart; more are joined, since each costs far more than its bytes. */
const maxPieces = 256;

/** Cuts a byte stream into lines. Throws on a line longer than maxLineBytes, so that a compromised QEMU cannot grow the service. */
export class LineSplitter {
  #held: Buffer[] = [];
  #heldBytes = 0;

  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let from = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      this.#hold(chunk.subarray(from, at));
      lines.push(Buffer.concat(this.#held).toString('utf8').trim());
      this.#held = [];
      this.#heldBytes = 0;
      from = at + 1;
    }
    this.#hold(chunk.subarray(from));
    return lines.filter((line) => line !== '');
  }

  #hold(part: Buffer): void {
    if (part.length === 0) return;
    this.#heldBytes += part.length;
    if (this.#heldBytes > maxLineBytes) throw new Error(`QMP line over ${maxLineBytes} bytes`);
    this.#held.push(part);
    if (this.#held.length > maxPieces) this.#held = [Buffer.concat(this.#held)];
  }
}
