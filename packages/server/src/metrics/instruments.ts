import { Counter, Histogram, type Registry } from 'prom-client';

/** The values of each label; empty where they are known only when events occur. */
type LabelValues = Readonly<Record<string, readonly string[]>>;

/** A counter. Combinations of labels whose values are all known start at zero, so that the first event shows as an increase. */
export function counter<const Labels extends LabelValues = Record<never, never>>(
  registry: Registry,
  name: string,
  help: string,
  labels?: Labels,
): Counter<keyof Labels & string> {
  const values = Object.entries(labels ?? {});
  const labelNames = values.map(([label]) => label as keyof Labels & string);
  const created = new Counter({ name, help, labelNames, registers: [registry] });
  for (const combination of combinations(values)) created.inc(combination as Record<keyof Labels & string, string>, 0);
  return created;
}

export function histogram<const Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly Label[],
  buckets: readonly number[],
): Histogram<Label> {
  return new Histogram({ name, help, labelNames: [...labelNames], buckets: [...buckets], registers: [registry] });
}

/** Counts HTTP requests in plain maps and updates the counter only at a scrape: every request is counted, scrapes are rare. */
export function requestCounter(registry: Registry): (method: string, route: string, status: number) => void {
  const methods = new Map<string, Map<string, Map<number, number>>>();
  new Counter({
    name: 'mayfly_http_requests_total',
    help: 'HTTP requests by route pattern.',
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
    const statuses = innerMap(innerMap(methods, method), route);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  };
}

/** The map under a key, created if there is none. */
function innerMap<Key, Value>(outer: Map<string, Map<Key, Value>>, key: string): Map<Key, Value> {
  const existing = outer.get(key);
  if (existing !== undefined) return existing;
  const created = new Map<Key, Value>();
  outer.set(key, created);
  return created;
}

function combinations(labels: readonly (readonly [string, readonly string[]])[]): Record<string, string>[] {
  return labels.reduce<Record<string, string>[]>(
    (made, [label, values]) => made.flatMap((before) => values.map((value) => ({ ...before, [label]: value }))),
    [{}],
  );
}
