import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { connect, createServer, type Socket } from 'node:net';
import { startDnsServer } from './dns-server.ts';
import { serveRpc } from './rpc.ts';

/** A process on the network: a guest, the internet, or a program of the host. */
const connections = new Map<number, Socket>();
let lastConnection = 0;
/** The datagrams that arrived, by port. */
const counted = new Map<number, number>();

function outcomeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

function nextMessage(socket: Socket, timeoutMs: number): Promise<string> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve('silent'), timeoutMs);
    const finish = (outcome: string): void => {
      clearTimeout(timer);
      resolve(outcome);
    };
    socket.once('data', (chunk) => finish(chunk.toString()));
    socket.once('error', (error) => finish(outcomeOf(error)));
    socket.once('close', () => finish('closed'));
  });
}

interface Target {
  readonly host: string;
  readonly port: number;
  readonly localAddress?: string;
  readonly timeoutMs?: number;
}

interface Lookup {
  readonly name: string;
  readonly type?: 'A' | 'AAAA';
  readonly server?: string;
  readonly timeoutMs?: number;
}

serveRpc({
  /** Starts a TCP echo server. */
  listenTcp: ({ port }: { port: number }) =>
    new Promise<void>((resolve, reject) => {
      createServer((socket) => socket.on('error', () => {}).pipe(socket))
        .once('error', reject)
        .listen(port, '0.0.0.0', () => resolve());
    }),
  /** Starts a TCP server that sends data until the client closes. */
  listenSource: ({ port }: { port: number }) =>
    new Promise<void>((resolve) => {
      const block = Buffer.alloc(65536);
      createServer((socket) => {
        const push = (): void => {
          while (socket.writable && socket.write(block));
        };
        socket.on('drain', push).on('error', () => {});
        push();
      }).listen(port, '0.0.0.0', () => resolve());
    }),
  listenUdp: ({ port, address = '0.0.0.0' }: { port: number; address?: string }) =>
    new Promise<void>((resolve, reject) => {
      const socket = createSocket('udp4', (message, from) => socket.send(message, from.port, from.address));
      socket.once('error', reject).bind(port, address, () => resolve());
    }),
  /** Counts the datagrams that arrive. `countedOn` returns the number. */
  countUdp: ({ port, address }: { port: number; address: string }) =>
    new Promise<void>((resolve, reject) => {
      const socket = createSocket('udp4', () => {
        counted.set(port, (counted.get(port) ?? 0) + 1);
      });
      socket.once('error', reject).bind(port, address, () => resolve());
    }),
  countedOn: ({ port }: { port: number }) => counted.get(port) ?? 0,
  /** Sends datagrams as fast as it can and returns how long that took. */
  floodUdp: async ({ host, port, count }: { host: string; port: number; count: number }) => {
    const startedAtMs = performance.now();
    const socket = createSocket('udp4');
    for (let at = 0; at < count; at += 1) {
      await new Promise<void>((resolve) => socket.send('x', port, host, () => resolve()));
    }
    socket.close();
    return { ms: performance.now() - startedAtMs };
  },
  serveDns: startDnsServer,
  /** Tries to connect over TCP. Returns the outcome and how long it took. */
  connect: ({ timeoutMs = 1500, ...target }: Target) =>
    new Promise((resolve) => {
      const startedAtMs = performance.now();
      const socket = connect(target);
      const finish = (outcome: string): void => {
        clearTimeout(timer);
        socket.destroy();
        resolve({ outcome, ms: performance.now() - startedAtMs });
      };
      const timer = setTimeout(() => finish('silent'), timeoutMs);
      socket.once('connect', () => finish('open')).once('error', (error) => finish(outcomeOf(error)));
    }),
  /** Opens a connection and keeps it open for `say`. */
  hold: (target: Target) =>
    new Promise<number>((resolve, reject) => {
      const socket = connect(target);
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject).on('error', () => {});
        connections.set(++lastConnection, socket);
        resolve(lastConnection);
      });
    }),
  say: ({ connection, timeoutMs = 1500 }: { connection: number; timeoutMs?: number }) => {
    const socket = connections.get(connection);
    if (!socket || socket.destroyed) return 'closed';
    const answered = nextMessage(socket, timeoutMs);
    socket.write('hello');
    return answered;
  },
  askUdp: ({ host, port, localAddress, timeoutMs = 700 }: Target) =>
    new Promise<string>((resolve) => {
      const socket = createSocket('udp4');
      const timer = setTimeout(() => finish('silent'), timeoutMs);
      const finish = (outcome: string): void => {
        clearTimeout(timer);
        socket.removeAllListeners('message').close();
        resolve(outcome);
      };
      socket.once('message', () => finish('answered'));
      socket.on('error', () => {});
      socket.once('error', (error) => finish(outcomeOf(error)));
      socket.bind(0, localAddress, () => {
        socket.setBroadcast(true);
        socket.connect(port, host, () => socket.send('hello'));
      });
    }),
  lookup: async ({ name, type = 'A', server = '10.213.0.1', timeoutMs = 1500 }: Lookup) => {
    const resolver = new Resolver({ timeout: timeoutMs, tries: 1 });
    resolver.setServers([server]);
    try {
      return (type === 'A' ? await resolver.resolve4(name) : await resolver.resolve6(name)).join(' ');
    } catch (error) {
      return outcomeOf(error);
    }
  },
  /** Looks a name up many times at once and returns how many lookups were answered. */
  lookUpMany: async ({ name, count }: { name: string; count: number }) => {
    const resolver = new Resolver({ timeout: 300, tries: 1 });
    resolver.setServers(['10.213.0.1']);
    const lookups = Array.from({ length: count }, () => resolver.resolve4(name));
    return (await Promise.allSettled(lookups)).filter(({ status }) => status === 'fulfilled').length;
  },
  /** Sends bytes to an echo server and returns the bits per second. */
  upload: ({ host, port, bytes }: { host: string; port: number; bytes: number }) =>
    new Promise<number>((resolve, reject) => {
      const startedAtMs = performance.now();
      const socket = connect({ host, port }, () => socket.end(Buffer.alloc(bytes)));
      socket.once('error', reject).resume();
      socket.once('end', () => resolve((bytes * 8000) / (performance.now() - startedAtMs)));
    }),
  /** Reads bytes and returns the bits per second. */
  download: ({ host, port, bytes }: { host: string; port: number; bytes: number }) =>
    new Promise<number>((resolve, reject) => {
      const socket = connect({ host, port });
      let startedAtMs = 0;
      let read = 0;
      socket.once('connect', () => {
        startedAtMs = performance.now();
      });
      socket.once('error', reject);
      socket.on('data', (chunk) => {
        read += chunk.length;
        if (read < bytes) return;
        socket.destroy();
        resolve((read * 8000) / (performance.now() - startedAtMs));
      });
    }),
  /** Opens connections one after another, leaves them open, and returns how many succeeded and how long that took. */
  openMany: async ({ host, port, count }: { host: string; port: number; count: number }) => {
    const startedAtMs = performance.now();
    let open = 0;
    for (let at = 0; at < count; at += 1) {
      open += await new Promise<number>((resolve) => {
        const socket = connect({ host, port });
        socket.once('connect', () => resolve(1)).once('error', () => resolve(0));
      });
    }
    return { open, ms: performance.now() - startedAtMs };
  },
});
