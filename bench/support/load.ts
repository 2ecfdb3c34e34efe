import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

export interface LoadOrder {
  readonly port: number;
  /** The bytes of the request. */
  readonly request: string;
  readonly connections: number;
  readonly durationMs: number;
}

/** How long one request takes under load, in milliseconds: the inverse of the requests per second. */
export async function msPerRequest(order: LoadOrder): Promise<number> {
  const worker = new Worker(new URL('load-worker.ts', import.meta.url), { workerData: order });
  const [report] = (await once(worker, 'message')) as [{ answered: number; refused?: string; elapsedMs: number }];
  if (report.refused !== undefined) throw new Error(`the server answered ${report.refused}`);
  return report.elapsedMs / report.answered;
}
