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

/** Output that is kept for a client while its screen is made. Beyond it the oldest is dropped. */
const maxHeldBytes = 1024 ** 2;

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
  held: Uint8Array[];
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
    const place: Place = { ...waiting(), shown: Promise.resolve(), stage: isEmpty ? 'current' : 'waiting' };
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
      if (place.stage === 'waiting') this.#show(client, place);
    }
  }

  caughtUp(client: TerminalClient): void {
    const place = this.#places.get(client);
    if (place?.stage === 'behind') this.#show(client, place);
  }

  print(bytes: Uint8Array): void {
    this.#screen.write(bytes);
    for (const [client, place] of this.#places) {
      if (place.stage === 'showing') hold(place, bytes);
      else if (place.stage === 'current') {
        if (client.isBehind) place.stage = 'behind';
        else client.print(bytes);
      }
    }
  }

  resize(size: TerminalSize): void {
    if (size.cols === this.#size.cols && size.rows === this.#size.rows) return;
    this.#size = size;
    this.#screen.resize(size);
    for (const [client, place] of this.#places) {
      if (place.stage !== 'current') continue;
      if (client.isBehind) place.stage = 'behind';
      else client.resized(size);
    }
  }

  /** What is printed from now on does not continue what was printed before. */
  restart(): void {
    this.#screen.reset(this.#size);
    for (const place of this.#places.values()) Object.assign(place, waiting());
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

  #show(client: TerminalClient, place: Place): void {
    place.shown = this.#makeAndShow(client, place);
  }

  async #makeAndShow(client: TerminalClient, place: Place): Promise<void> {
    const size = this.#size;
    Object.assign(place, { ...waiting(), stage: 'showing' });
    const { held } = place;
    const screen = await this.#screen.show();
    // It has left, or was put back meanwhile.
    if (this.#places.get(client) !== place || place.held !== held) return;
    client.show(size, screen);
    for (const bytes of held) client.print(bytes);
    Object.assign(place, { ...waiting(), stage: client.isBehind ? 'behind' : 'current' });
    if (size !== this.#size) client.resized(this.#size);
  }
}

function waiting(): Omit<Place, 'shown'> {
  return { stage: 'waiting', held: [], heldBytes: 0 };
}

function hold(place: Place, bytes: Uint8Array): void {
  place.held.push(bytes);
  place.heldBytes += bytes.length;
  while (place.heldBytes > maxHeldBytes) place.heldBytes -= place.held.shift()?.length ?? 0;
}
