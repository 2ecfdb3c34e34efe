import { Counter, Histogram, type Registry } from 'prom-client';

/** The values that a label can have, where they are known; none where they come with the events. */
type LabelValues = Readonly<Record<string, readonly string[]>>;

/** A counter; combinations of labels whose values are all known are there from the start. */
export function counter<const Labels extends LabelValues = Record<never, never>>(
  registry: Registry,
  name: string,
  help: string,
  labels?: Labels,
): Counter<keyof Labels & string> {
  const values = Object.entries(labels ?? {});
  const labelNames = values.map(([label]) => label as keyof Labels & string);
  const made = new Counter({ name, help, labelNames, registers: [registry] });
  for (const combination of combinations(values)) made.inc(combination as Record<keyof Labels & string, string>, 0);
  return made;
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

function combinations(labels: readonly (readonly [string, readonly string[]])[]): Record<string, string>[] {
  return labels.reduce<Record<string, string>[]>(
    (made, [label, values]) => made.flatMap((before) => values.map((value) => ({ ...before, [label]: value }))),
    [{}],
  );
}
