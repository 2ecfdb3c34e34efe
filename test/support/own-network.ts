import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

const startMs = 60_000;
const door = fileURLToPath(new URL('./own-network-door.ts', import.meta.url));

/** A network namespace with nothing but a SOCKS proxy, through which a program in it reaches this host's loopback, whatever host it asks for. */
export interface OwnNetwork extends AsyncDisposable {
  /** The command that runs a program in it, without the program. */
  readonly enter: readonly string[];
  /** `socks5://…` */
  readonly proxyUrl: string;
}

/**
 * Makes a network for a browser. Chromium gives up loading a page whenever an interface of its host appears or vanishes, which machines cause all the time.
 * Needs root.
 */
export async function openOwnNetwork(): Promise<OwnNetwork> {
  const script = 'ip link set lo up && exec "$@"';
  const child = spawn('unshare', ['--net', 'sh', '-euc', script, 'sh', process.execPath, door], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const port = await firstMessage(child);
  const sockets = new Set<Socket>();
  child.on('message', (_, handle) => {
    const socket = handle as Socket | undefined;
    if (!socket) return;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    serveSocks(socket);
  });
  return {
    enter: ['nsenter', `--net=/proc/${child.pid}/ns/net`],
    proxyUrl: `socks5://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };
}

async function firstMessage(child: ChildProcess): Promise<number> {
  const signal = AbortSignal.timeout(startMs);
  const ended = once(child, 'exit', { signal }).then(() => {
    throw new Error('the network of the browser could not be made');
  });
  const [port] = (await Promise.race([once(child, 'message', { signal }), ended])) as unknown as readonly [number];
  ended.catch(() => {});
  return port;
}

const version = 5;
const granted = Buffer.from([version, 0, 0, 1, 0, 0, 0, 0, 0, 0]);

/** Answers a SOCKS 5 client that needs no sign-in and connects by name or IPv4 address. Only the port counts. */
function serveSocks(client: Socket): void {
  client.on('error', () => client.destroy());
  let received = Buffer.alloc(0);
  let isGreeted = false;
  const read = (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    if (!isGreeted) {
      const length = 2 + (received[1] ?? Number.POSITIVE_INFINITY);
      if (received.length < length) return;
      received = received.subarray(length);
      isGreeted = true;
      client.write(Buffer.from([version, 0]));
    }
    const isName = received[3] === 3;
    const length = 4 + (isName ? 1 + (received[4] ?? Number.POSITIVE_INFINITY) : 4) + 2;
    if (received.length < length) return;
    client.off('data', read);
    const port = received.readUInt16BE(length - 2);
    const upstream = connect(port, '127.0.0.1', () => {
      client.write(granted);
      upstream.write(received.subarray(length));
      client.pipe(upstream).pipe(client);
    });
    upstream.on('error', () => client.destroy());
    client.once('close', () => upstream.destroy());
  };
  client.on('data', read);
}
