import type { Screen, TerminalSize } from '../ports/screens.ts';

/** How a terminal ended: with the exit code of its shell, or without one. */
export type TerminalEnd =
  | { readonly kind: 'exit'; readonly exitCode: number }
  | { readonly kind: 'gone'; readonly reason: string };

/** Somebody who looks at a terminal. */
export interface TerminalClient {
  /** Shows the whole screen in place of everything before. */
  show(size: TerminalSize, screen: Uint8Array): void;
  print(bytes: Uint8Array): void;
  resized(size: TerminalSize): void;
  ended(end: TerminalEnd): void;
  /** Whether so much is waiting to be sent that more would only fill memory. */
  readonly isBehind: boolean;
}

/** What is kept for a client while its screen is made. If there is more, the screen is made again. */
const maxHeldBytes = 1024 ** 2;
/** What a message counts as at least: small ones cost more than they have bytes. */
const heldMessageBytes = 256;

/**
 * - `waiting`: is shown the screen later, and until then nothing.
 * - `showing`: its screen is being made; what is printed meanwhile follows it.
 * - `behind`: cannot be sent more; is shown the screen when it has caught up.
 * - `current`: has everything that was printed.
 */
type Stage = 'waiting' | 'showing' | 'behind' | 'current';

interface Place {
  stage: Stage;
  shown: Promise<void>;
  /** What happened since its screen was asked for. */
  held: (Uint8Array | TerminalSize)[];
  heldBytes: number;
}

/** The clients of one terminal, and the screen that those who come later or were too slow are shown. */
export class Audience {
  readonly #screen: Screen;
  readonly #places = new Map<TerminalClient, Place>();
  #size: TerminalSize;

  constructor(screen: Screen, size: TerminalSize) {
    this.#screen = screen;
    this.#size = size;
  }

  get size(): number {
    return this.#places.size;
  }

  /** Adds a client. The screen is shown at once if it is complete, and else by `showAll`; an empty one needs no making. */
  add(client: TerminalClient, isComplete: boolean, isEmpty: boolean): void {
    const place: Place = { ...nothingHeld(), shown: Promise.resolve(), stage: isEmpty ? 'current' : 'waiting' };
    this.#places.set(client, place);
    if (isEmpty) client.show(this.#size, new Uint8Array());
    else if (isComplete) this.#show(client, place);
  }

  remove(client: TerminalClient): void {
    this.#places.delete(client);
  }

  /** Shows the screen to everybody who waits for it. */
  showAll(): void {
    for (const [client, place] of this.#places) {
      if (place.stage === 'waiting') this.#showUnlessBehind(client, place);
    }
  }

  caughtUp(client: TerminalClient): void {
    const place = this.#places.get(client);
    if (place?.stage === 'behind') this.#showUnlessBehind(client, place);
  }

  print(bytes: Uint8Array): void {
    this.#screen.write(bytes);
    this.#send(bytes, (client) => client.print(bytes));
  }

  resize(size: TerminalSize): void {
    if (size.cols === this.#size.cols && size.rows === this.#size.rows) return;
    this.#size = size;
    this.#screen.resize(size);
    this.#send(size, (client) => client.resized(size));
  }

  /** What is printed from now on does not continue what was printed before. */
  restart(): void {
    this.#screen.reset(this.#size);
    for (const place of this.#places.values()) {
      if (place.stage !== 'behind') Object.assign(place, { ...nothingHeld(), stage: 'waiting' });
    }
  }

  /** Tells everybody how the terminal ended, after its last output. */
  async end(end: TerminalEnd): Promise<void> {
    const ending = [...this.#places].map(async ([client, place]) => {
      if (place.stage === 'waiting' || place.stage === 'behind') this.#show(client, place);
      if (place.stage === 'showing') await place.shown;
      if (this.#places.delete(client)) client.ended(end);
    });
    await Promise.all(ending);
  }

  /** Sends something to those who are up to date, and keeps it for those whose screen is being made. */
  #send(sent: Uint8Array | TerminalSize, send: (client: TerminalClient) => void): void {
    for (const [client, place] of this.#places) {
      if (place.stage === 'showing') hold(place, sent);
      else if (place.stage === 'current') {
        if (client.isBehind) place.stage = 'behind';
        else send(client);
      }
    }
  }

  #showUnlessBehind(client: TerminalClient, place: Place): void {
    if (client.isBehind) place.stage = 'behind';
    else this.#show(client, place);
  }

  #show(client: TerminalClient, place: Place): void {
    Object.assign(place, { ...nothingHeld(), stage: 'showing' });
    place.shown = this.#makeAndShow(client, place);
  }

  async #makeAndShow(client: TerminalClient, place: Place): Promise<void> {
    const size = this.#size;
    const { held } = place;
    const screen = await this.#screen.show();
    // It has left, or was put back meanwhile.
    if (this.#places.get(client) !== place || place.held !== held) return;
    client.show(size, screen);
    if (place.heldBytes > maxHeldBytes) {
      this.#showUnlessBehind(client, place);
      return;
    }
    for (const one of held) {
      if (one instanceof Uint8Array) client.print(one);
      else client.resized(one);
    }
    Object.assign(place, { ...nothingHeld(), stage: client.isBehind ? 'behind' : 'current' });
  }
}

function nothingHeld(): Pick<Place, 'held' | 'heldBytes'> {
  return { held: [], heldBytes: 0 };
}

function hold(place: Place, held: Uint8Array | TerminalSize): void {
  place.heldBytes += heldMessageBytes + (held instanceof Uint8Array ? held.length : 0);
  if (place.heldBytes > maxHeldBytes) place.held.length = 0;
  else place.held.push(held);
}
