import { createSecureContext } from 'node:tls';
import type { Certificates } from '../certificate-source.ts';
import { contextCache } from '../context-cache.ts';
import { certifiedName } from './certified-name.ts';
import { leafMinter } from './leaf.ts';
import { type OpenRootOptions, openRoot } from './open-root.ts';

/** What a context weighs outside of JavaScript's heap, about. */
const contextBytes = 49_152;

export interface LocalCertificateOptions extends OpenRootOptions {
  /** For how many names a context is kept. */
  readonly contextsKept?: number;
}

/** Certificates of an authority of our own: one per name, made when a client first asks for it. */
export function openLocalCertificates(options: LocalCertificateOptions): Certificates {
  const { domain, nowMs, contextsKept = 1_000 } = options;
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
