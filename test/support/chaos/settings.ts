import { randomInt } from 'node:crypto';
import type { ServiceProcess } from './service-process.ts';
import type { Trace } from './trace.ts';

/** How many sandboxes the account may have: fewer than the clients want. */
export const quota = 6;

/** A service with a low quota and prices at which a millisecond shows. */
export const chaosSettings = {
  MAYFLY_LIMIT_CONCURRENT_SANDBOXES: `${quota}`,
  MAYFLY_PRICE_SMALL: '36',
  MAYFLY_BOOTSTRAP_CREDIT_USD: '1000000',
  MAYFLY_POOL: 'small=1',
};

/** The seed that was asked for, else a new one. */
export const chaosSeed = (): number => Number(process.env.MAYFLY_CHAOS_SEED ?? randomInt(2 ** 31));

/** For how long, if that was asked for. */
export const chaosSeconds = (usual: number): number => Number(process.env.MAYFLY_CHAOS_SECONDS ?? usual);

/** What is shown when something is wrong: what was done when, and what the service said. */
export const reportOf = (seed: number, trace: Trace, service: ServiceProcess): string =>
  [`MAYFLY_CHAOS_SEED=${seed}`, trace.counts, trace.tail(150), 'the service said:', service.log].join('\n');
