import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Load } from './load.ts';

/** A client that visits a preview. */
export interface Visitor {
  readonly url: string;
  /** The authority to trust, as PEM. */
  readonly ca: string;
  readonly protocol: 'HTTP/1.1' | 'HTTP/2';
  readonly load: Load;
}

/** Measures a load through the gateway, in milliseconds. */
export async function visitFromOutside(visitor: Visitor): Promise<number> {
  const worker = new Worker(new URL('outside-worker.ts', import.meta.url), { workerData: visitor });
  const [ms] = (await once(worker, 'message')) as [number];
  return ms;
}
