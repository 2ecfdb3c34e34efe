import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Config } from '../app/config.ts';
import { explainListen } from '../app/listen.ts';
import { type ListeningPort, resolvePorts } from '../confinement/listening-ports.ts';
import { StartFailure } from '../process/start-failure.ts';

type AddressSettings = Pick<Config, 'host' | 'port' | 'previewHost' | 'previewPort'>;

/** Where the service is to listen, with what the names of the settings begin with. */
export function wantedPorts({ host, port, previewHost, previewPort }: AddressSettings) {
  return [
    { name: 'api', host, port, prefix: 'MAYFLY' },
    { name: 'previews', host: previewHost, port: previewPort, prefix: 'MAYFLY_PREVIEW' },
  ] as const;
}

/** Returns the ports that are opened for the service. Throws a StartFailure that names the setting if one of them cannot be opened. */
export async function openablePorts(settings: AddressSettings): Promise<ListeningPort[]> {
  const openable: ListeningPort[] = [];
  for (const each of wantedPorts(settings)) {
    try {
      const ports = await resolvePorts([each]);
      for (const found of ports) if (!found.optional) await tryPort(found);
      openable.push(...ports);
    } catch (cause) {
      const mayPass = cause instanceof Error && 'code' in cause && cause.code === 'EAI_AGAIN';
      const message = explainListen(cause, each.host, each.port, each.prefix);
      throw new StartFailure(message, { cause, mayPass });
    }
  }
  return openable;
}

/** Listens on a port for a moment. */
async function tryPort({ address, port }: ListeningPort): Promise<void> {
  const server = createServer().listen({ host: address, port, exclusive: true });
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}
