import { fileURLToPath } from 'node:url';

/** Absolute path of the checkout, without a trailing slash. */
export const projectRoot = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');
