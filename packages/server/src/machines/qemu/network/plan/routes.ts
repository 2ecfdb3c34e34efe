import { z } from 'zod';
import { type Cidr, cidr, parseCidr } from './ipv4.ts';
import { isRefused } from './refused-ranges.ts';

const routeSchema = z.object({
  type: z.string().optional(),
  dst: z.string(),
  dev: z.string().optional(),
  nexthops: z.array(z.object({ dev: z.string().optional() })).optional(),
});

/** A way of the host to other addresses. */
export interface Route {
  readonly destination: Cidr;
  readonly devices: readonly string[];
}

/** Everything, the destination of a default route. */
const everywhere = cidr('0.0.0.0/0');

/** The unicast and local routes in what `ip -4 -j route show table all` prints. */
export const parseRoutes = (json: string): Route[] =>
  z
    .array(routeSchema)
    .parse(JSON.parse(json || '[]'))
    .flatMap(({ type = 'unicast', dst, dev, nexthops = [] }) => {
      const destination = dst === 'default' ? everywhere : parseCidr(dst);
      if (!destination || (type !== 'unicast' && type !== 'local')) return [];
      const devices = [dev, ...nexthops.map((hop) => hop.dev)].filter((name) => name !== undefined);
      return [{ destination, devices }];
    });

/** The interfaces that lead to addresses a machine may reach; packets come back through them. */
export const findUplinks = (routes: readonly Route[]): string[] => {
  const leading = routes.filter(({ destination }) => !isRefused(destination));
  return [...new Set(leading.flatMap(({ devices }) => devices))].filter((name) => name !== 'lo').sort();
};
