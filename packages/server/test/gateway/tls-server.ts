import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type SecureContext, type TLSSocket } from 'node:tls';
import type { Certificates, PemPair } from '../../src/gateway/tls/certificates.ts';

/** A TLS server that uses these certificates as the gateway does. */
export async function serveTls(certificates: Certificates): Promise<TestTlsServer> {
  const answer = async (servername: string, done: (error: null, context: SecureContext) => void) =>
    done(null, await certificates.contextFor(servername));
  return serve({
    ...(await certificates.defaultPair()),
    SNICallback: (servername, done) => void answer(servername, done),
  });
}

/** A TLS server with one certificate for all names. */
export async function servePair({ cert, key }: PemPair): Promise<TestTlsServer> {
  return serve({ cert, key });
}

export interface TestTlsServer extends AsyncDisposable {
  /** Connects as a client that trusts the root. Rejects if the client refuses the certificate. */
  greet(root: string, servername?: string): Promise<Greeting>;
}

interface Greeting {
  readonly protocol: string | null;
  readonly altNames: string | undefined;
  readonly serial: string;
  readonly validToMs: number;
}

async function serve(options: Parameters<typeof createServer>[0]): Promise<TestTlsServer> {
  const server = createServer(options, (socket) => socket.on('error', () => undefined).end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    greet: async (root, servername) => {
      const named = servername === undefined ? { checkServerIdentity: () => undefined } : { servername };
      const client = connect({ host: '127.0.0.1', port, ca: root, ...named });
      try {
        await once(client, 'secureConnect');
        return greetingOf(client);
      } finally {
        client.destroy();
      }
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}

function greetingOf(client: TLSSocket): Greeting {
  const { subjectaltname, serialNumber, valid_to } = client.getPeerCertificate();
  return {
    protocol: client.getProtocol(),
    altNames: subjectaltname,
    serial: serialNumber,
    validToMs: Date.parse(valid_to),
  };
}
