import { z } from 'zod';

/** Opaque; the prefix is for people. */
export const sandboxId = z.string().meta({ description: 'Opaque.', examples: ['sbx_4w5pz2hq7m3kx6tn2ab7cdfe'] });
export const executionId = z.string().meta({ description: 'Opaque.', examples: ['exec_q2m7rk4t5x3vb6ynz7pahcdw'] });
export const accountId = z.string().meta({ description: 'Opaque.', examples: ['acct_h6k3vz5p2wq7mx4tnb3ycdrf'] });
