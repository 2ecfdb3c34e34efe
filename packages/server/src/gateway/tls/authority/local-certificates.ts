import { createSecureContext } from 'node:tls';
import type { Certificates } from '../certificate-source.ts';
import { contextCache } from '../context-cache.ts';
import { certifiedName } from './certified-name.ts';
import { leafMinter } from './leaf.ts';
import { type OpenRootOptions, openRoot } from './open-root.ts';

const contextsKept = 1_000;
/** What a context weighs outside of JavaScript's heap, about. */
const contextBytes = 49_152;

/** Certificates of an authority of our own: one per name, made when a client first asks for it. */
export function openLocalCertificates(options: OpenRootOptions): Certificates {
  const { domain, nowMs } = options;
  const { root, certFile } = openRoot(options);
  const mint = leafMinter(root);
  const cached = contextCache({
    capacity: contextsKept,
    nowMs,
    make: (name) => {
      const { cert, key, renewAtMs } = mint(name, nowMs());
      const context = createSecureContext({ cert, key, minVersion: 'TLSv1.2' });
      // The garbage collector does not see what a context weighs; by this it does, and hurries when names flood in.
      return { context, renewAtMs, ballast: new ArrayBuffer(contextBytes) };
    },
  });
  return {
    rootFile: certFile,
    contextFor: async (servername) => cached(certifiedName(servername, domain)).context,
    pairForNoName: async () => mint(domain, nowMs()),
    [Symbol.dispose]: () => undefined,
  };
}
