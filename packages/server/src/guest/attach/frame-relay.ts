import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { guestLimits } from '../guest-limits.ts';
import { FrameGate } from './frame-gate.ts';
import { openSocketPair, type PairReader, type SocketPair } from './socket-pair.ts';

/** How much of what HTTP/2 sends is read at once. More costs less time per byte, and more memory for each machine. */
const bufferBytes = 128 * 1024;

/** Passes what HTTP/2 sends to the data port. Nobody has to judge it, and it needs no new buffer for each read. */
class ToGuest implements PairReader {
  readonly buffer = Buffer.allocUnsafeSlow(bufferBytes);
  #data: Duplex | undefined;
  #isPaused = false;
  #resume = (): void => {};

  start(data: Duplex, resume: () => void): void {
    this.#data = data;
    this.#resume = resume;
    data.once('close', this.#written);
  }

  take(bytes: Buffer): boolean {
    // What a closed port cannot take is dropped. If it stayed unread, HTTP/2 might not read to the end.
    if (this.#data?.writable !== true) return true;
    this.#data.write(bytes, this.#written);
    this.#isPaused = this.#data.writableLength > 0;
    return !this.#isPaused;
  }

  /** Reads again once the port has taken everything that is in the buffer. */
  readonly #written = (): void => {
    const isTaken = this.#data === undefined || this.#data.destroyed || this.#data.writableLength === 0;
    if (!this.#isPaused || !isTaken) return;
    this.#isPaused = false;
    this.#resume();
  };
}

/**
 * Passes bytes between the data port and `node:http2`, so that the frames of the agent are judged first. HTTP/2 takes over a socket itself: it
 * handles all that has arrived in one turn of the event loop, and most kinds of frames without any event.
 */
export class FrameRelay {
  readonly #pair: SocketPair;
  readonly #gate: FrameGate;
  readonly #toGuest: ToGuest;
  #allowance: number = guestLimits.framesPerTurn;
  #isRenewalScheduled = false;

  private constructor(pair: SocketPair, toGuest: ToGuest) {
    this.#pair = pair;
    this.#toGuest = toGuest;
    this.#gate = new FrameGate(() => pair.other.bytesRead);
  }

  /** Throws if the process can open no more sockets. */
  static async open(): Promise<FrameRelay> {
    const toGuest = new ToGuest();
    return new FrameRelay(await openSocketPair(toGuest), toGuest);
  }

  /** The socket for HTTP/2. */
  get socket(): Socket {
    return this.#pair.fresh;
  }

  /** Starts to pass bytes in both directions. At a frame that must not pass, it stops for good and calls `onViolation`. */
  start(data: Duplex, onViolation: (violation: unknown) => void): void {
    const { other } = this.#pair;
    /** A part of the last chunk waits for the next turn. The end of the port may be reported meanwhile. */
    let isWaiting = false;
    const pass = (chunk: Buffer) => {
      if (other.destroyed) return;
      let passed: number;
      try {
        passed = this.#admit(chunk);
      } catch (violation) {
        other.destroy();
        onViolation(violation);
        return;
      }
      const hasRoom = passed === 0 || other.write(chunk.subarray(0, passed));
      isWaiting = passed < chunk.length;
      if (isWaiting) {
        data.pause();
        setImmediate(pass, chunk.subarray(passed));
      } else if (data.readableEnded) other.end();
      else if (hasRoom) data.resume();
      else {
        data.pause();
        other.once('drain', () => data.resume());
      }
    };
    this.#toGuest.start(data, () => other.resume());
    // HTTP/2 gets all that has passed, and then the end.
    data.once('end', () => {
      if (!isWaiting) other.end();
    });
    data.on('data', pass).resume();
  }

  /** Closes both sockets; the data port stays open. */
  close(): void {
    this.#pair.fresh.destroy();
    this.#pair.other.destroy();
  }

  /** Returns how many bytes may pass in this turn of the event loop. Throws ProtocolViolation. */
  #admit(chunk: Buffer): number {
    if (!this.#isRenewalScheduled) {
      this.#isRenewalScheduled = true;
      setImmediate(() => {
        this.#isRenewalScheduled = false;
        this.#allowance = guestLimits.framesPerTurn;
      });
    }
    const { end, allowance } = this.#gate.admit(chunk, this.#allowance);
    this.#allowance = allowance;
    return end;
  }
}
