import { createSecureContext } from 'node:tls';
import type { Certificates } from '../certificates.ts';
import { leafIssuer } from './leaf.ts';
import { type OpenRootOptions, openRoot } from './root.ts';

/** The approximate size of a TLS context outside the JavaScript heap. */
const contextBytes = 49_152;
const maxNameLength = 253;
const label = /^[a-z0-9-]{1,63}$/;

export interface LocalCertificateOptions extends OpenRootOptions {
  /** The number of names whose TLS contexts are cached. */
  readonly maxContexts?: number;
}

/** Certificates of the local authority: one wildcard where clients accept it, otherwise one per name, issued when a client first asks for it. */
export function openLocalCertificates(options: LocalCertificateOptions): Certificates {
  const { domain, nowMs, maxContexts = 1_000 } = options;
  const { root, certFile } = openRoot(options);
  const issue = leafIssuer(root);
  const contextOf = renewingCache({
    capacity: maxContexts,
    nowMs,
    create: (name) => {
      const { cert, key, renewAtMs } = issue(name, nowMs());
      const context = createSecureContext({ cert, key, minVersion: 'TLSv1.2' });
      // The garbage collector does not see the native memory of a context. The ballast makes it run in time under a flood of names.
      return { context, renewAtMs, ballast: new ArrayBuffer(contextBytes) };
    },
  });
  return {
    rootFile: certFile,
    contextFor: async (servername) => contextOf(certifiedName(servername, domain)).context,
    defaultPair: async () => issue(domain, nowMs()),
    [Symbol.dispose]: () => undefined,
  };
}

/**
 * The name to certify if the requested one is one label below the domain: all of them by a wildcard, or the name itself where clients accept
 * none, directly below a single label such as localhost. For any other name, the domain itself.
 */
export function certifiedName(servername: string | undefined, domain: string): string {
  if (servername === undefined || servername.length > maxNameLength) return domain;
  const name = servername.toLowerCase();
  if (!name.endsWith(`.${domain}`)) return domain;
  if (!label.test(name.slice(0, -domain.length - 1))) return domain;
  return domain.includes('.') ? `*.${domain}` : name;
}

interface Renewable {
  /** When the value is replaced by a new one. */
  readonly renewAtMs: number;
}

export interface RenewingCacheOptions<Value extends Renewable> {
  /** The least recently used value is evicted first. */
  readonly capacity: number;
  readonly create: (name: string) => Value;
  readonly nowMs: () => number;
}

/** Creates a value per name and caches it until it is due for renewal or evicted. */
export function renewingCache<Value extends Renewable>(options: RenewingCacheOptions<Value>): (name: string) => Value {
  const { capacity, create, nowMs } = options;
  // Ordered by last use.
  const cached = new Map<string, Value>();
  return (name) => {
    const found = cached.get(name);
    const value = found !== undefined && nowMs() < found.renewAtMs ? found : create(name);
    cached.delete(name);
    cached.set(name, value);
    for (const oldest of cached.keys()) {
      if (cached.size <= capacity) break;
      cached.delete(oldest);
    }
    return value;
  };
}
