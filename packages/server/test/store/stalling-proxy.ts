import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy to a loopback port that can stop forwarding, like a network that drops packets. */
export class StallingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #stalled = false;

  private constructor(targetPort: number) {
    this.#server = createServer((near) => {
      this.#keep(near);
      if (this.#stalled) {
        near.pause();
        return;
      }
      const far = connect(targetPort, '127.0.0.1');
      this.#keep(far);
      near.pipe(far).pipe(near);
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        one.once('close', () => this.#stalled || other.destroy());
      }
    });
  }

  static open(targetPort: number): Promise<StallingProxy> {
    const proxy = new StallingProxy(targetPort);
    return new Promise((resolve) => proxy.#server.listen(0, '127.0.0.1', () => resolve(proxy)));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Stops forwarding, also on open connections. */
  stall(): void {
    this.#stalled = true;
    for (const socket of this.#sockets) socket.unpipe().pause();
  }

  /** Forwards again, on new connections. */
  recover(): void {
    this.#stalled = false;
  }

  close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#sockets.delete(socket));
  }
}
