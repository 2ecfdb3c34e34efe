/** Open while a machine runs and shut while it is paused. */
export class Gate {
  #opened: PromiseWithResolvers<void> | undefined;

  shut(): void {
    this.#opened ??= Promise.withResolvers();
  }

  open(): void {
    this.#opened?.resolve();
    this.#opened = undefined;
  }

  /** Settles as soon as the gate is open. */
  async passed(): Promise<void> {
    while (this.#opened !== undefined) await this.#opened.promise;
  }
}
