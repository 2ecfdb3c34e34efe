import { Counter, type Registry } from 'prom-client';

/** Counts answers. Their counter is brought up to date when somebody asks for it: every request is counted, few are looked at. */
export function requestCounter(registry: Registry): (method: string, route: string, status: number) => void {
  const methods = new Map<string, Map<string, Map<number, number>>>();
  new Counter({
    name: 'mayfly_http_requests_total',
    help: 'Requests answered, by the pattern of their path.',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [method, routes] of methods) {
        for (const [route, statuses] of routes) {
          for (const [status, count] of statuses) this.inc({ method, route, status }, count);
        }
      }
    },
  });
  return (method, route, status) => {
    const statuses = within(within(methods, method), route);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  };
}

/** What is filed under a key, which is made if there is none. */
function within<Key, Inner>(outer: Map<string, Map<Key, Inner>>, key: string): Map<Key, Inner> {
  const known = outer.get(key);
  if (known !== undefined) return known;
  const made = new Map<Key, Inner>();
  outer.set(key, made);
  return made;
}
