import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Load } from './load.ts';

/** Somebody who visits a preview. */
export interface Visitor {
  readonly url: string;
  /** The authority to trust, as PEM. */
  readonly ca: string;
  readonly protocol: 'HTTP/1.1' | 'HTTP/2';
  readonly load: Load;
}

/** What a load takes through the gateway, in milliseconds. */
export const visitFromOutside = async (visitor: Visitor): Promise<number> => {
  const worker = new Worker(new URL('outside-worker.ts', import.meta.url), { workerData: visitor });
  const [ms] = (await once(worker, 'message')) as [number];
  return ms;
};
