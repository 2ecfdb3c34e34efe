import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';

/** A TCP port that mayfly-jail opens for the service. */
export interface PrivilegedPort {
  /** What the service uses it for. */
  readonly name: 'api' | 'previews';
  readonly address: string;
  readonly port: number;
}

/** Where the service is to listen, as the settings say. */
export interface WantedPort {
  readonly name: PrivilegedPort['name'];
  readonly host: string;
  readonly port: number;
}

/** The ports among these that only root may open. Their hosts become addresses, because mayfly-jail resolves no names. */
export async function privilegedPorts(
  wanted: readonly WantedPort[],
  firstUnprivileged?: number,
): Promise<PrivilegedPort[]> {
  const first = firstUnprivileged ?? (await readFirstUnprivileged());
  const privileged = wanted.filter(({ port }) => port > 0 && port < first);
  return await Promise.all(
    privileged.map(async ({ name, host, port }) => ({
      name,
      address: isIP(host) > 0 ? host : (await lookup(host)).address,
      port,
    })),
  );
}

async function readFirstUnprivileged(): Promise<number> {
  const text = await readFile('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8').catch(() => '1024');
  return Number(text);
}
