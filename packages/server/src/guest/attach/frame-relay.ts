import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { guestLimits } from '../guest-limits.ts';
import { FrameGate } from './frame-gate.ts';
import { openSocketPair, type SocketPair } from './socket-pair.ts';

/**
 * Passes bytes between the data port and `node:http2`, so that the frames of the agent are judged first. HTTP/2 takes over a socket itself: it
 * handles all that has arrived in one turn of the event loop, and most kinds of frames without any event.
 */
export class FrameRelay {
  readonly #pair: SocketPair;
  readonly #gate: FrameGate;
  #allowance: number = guestLimits.framesPerTurn;
  #isRenewalScheduled = false;

  private constructor(pair: SocketPair) {
    this.#pair = pair;
    this.#gate = new FrameGate(() => pair.other.bytesRead);
  }

  /** Throws if the process can open no more sockets. */
  static async open(): Promise<FrameRelay> {
    return new FrameRelay(await openSocketPair());
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
    other.pipe(data, { end: false });
    // HTTP/2 gets all that has passed, and then the end. What it still sends is dropped; unread, it could keep HTTP/2 from reading that far.
    data.once('end', () => {
      if (!isWaiting) other.end();
    });
    data.once('close', () => other.resume());
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
