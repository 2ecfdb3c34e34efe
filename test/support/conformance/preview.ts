import { visit as visitPath } from '../previews/visit.ts';
import type { Incoming } from './exchange.ts';

/**
 * Opens a preview URL; without an authority to trust, whoever signed its certificate. A connection that is refused or closed counts as
 * status 599; no answer fails.
 */
export const visit = async (url: string, ca?: string): Promise<Incoming> => {
  try {
    return await visitPath({ url, ca });
  } catch (error) {
    const { name, message } = error as Error;
    if (name === 'AbortError' || name === 'TimeoutError') throw error;
    return { status: 599, headers: {}, text: message };
  }
};
