import type { Core } from '../context.ts';

/** What the use cases of accounts need. */
export type AccountsContext = Pick<Core, 'store' | 'limits' | 'clock' | 'ids' | 'log'>;
