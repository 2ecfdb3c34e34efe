import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';

/** A TCP port that is opened for the service: mayfly-jail or systemd opens it, and keeps it open while the service is restarted. */
export interface ListeningPort {
  /** What the service uses it for. */
  readonly name: 'api' | 'previews';
  readonly address: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Whether it may be missing, because the host may not have the address. */
  readonly optional?: boolean;
}

/** Where the service is to listen, as the settings say. */
export interface WantedPort {
  readonly name: ListeningPort['name'];
  readonly host: string;
  readonly port: number;
}

/** Returns the ports with addresses instead of names, which mayfly-jail does not resolve. The API is on every address of localhost, of which one must exist. */
export async function resolvePorts(wanted: readonly WantedPort[]): Promise<ListeningPort[]> {
  const resolved = await Promise.all(
    wanted.map(async ({ name, host, port }) => {
      const [first = host, ...others] = await addressesOf(host);
      const further = name === 'api' && host === 'localhost' ? others : [];
      return [{ name, address: first, port }, ...further.map((address) => ({ name, address, port, optional: true }))];
    }),
  );
  return resolved.flat();
}

async function addressesOf(host: string): Promise<readonly string[]> {
  if (isIP(host) > 0) return [host];
  const found = await lookup(host, { all: true });
  return [...new Set(found.map(({ address }) => address))];
}
