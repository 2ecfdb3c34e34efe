import type { CliIo } from '../cli-io.ts';

/** A connection that is back sooner is not worth a notice. */
export const noticeMs = 2_000;

/** Says on stderr that a connection was lost and when it is back, if that takes a while. */
export class ConnectionNotice implements Disposable {
  readonly #stderr: CliIo['stderr'];
  #timer: NodeJS.Timeout | undefined;
  #wasSaid = false;

  constructor({ stderr }: Pick<CliIo, 'stderr'>) {
    this.#stderr = stderr;
  }

  /** Called when the connection is lost and when it is back. */
  readonly onConnection = (isConnected: boolean): void => {
    clearTimeout(this.#timer);
    if (!isConnected) this.#timer = setTimeout(() => this.#say(), noticeMs);
    else if (this.#wasSaid) {
      this.#wasSaid = false;
      this.#stderr.write('Connected again.\n');
    }
  };

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  #say(): void {
    this.#wasSaid = true;
    this.#stderr.write('The connection to the service was lost. Reconnecting.\n');
  }
}
