import { z } from 'zod';
import { linkGroup } from '../plan/address-plan.ts';
import { run } from './command.ts';

const linksSchema = z.array(z.object({ ifname: z.string().optional() }));

/** The names of all our links on this host, whichever service made them. */
export const listLinks = async (): Promise<string[]> => {
  const json = await run('ip', ['-j', 'link', 'show', 'group', String(linkGroup)]);
  return linksSchema.parse(JSON.parse(json || '[]')).flatMap(({ ifname }) => (ifname ? [ifname] : []));
};
