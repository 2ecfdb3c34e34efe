import type { JsonSchema } from './types.ts';

/** A value that the schema allows, made of the examples of its parts. */
export function exampleOf(schema: JsonSchema, components: Readonly<Record<string, JsonSchema>>): unknown {
  const of = (part: JsonSchema): unknown => exampleOf(part, components);
  if (schema.$ref !== undefined) return of(components[schema.$ref.split('/').at(-1) ?? ''] ?? {});
  if (schema.examples !== undefined) return schema.examples[0];
  if (schema.const !== undefined) return schema.const;
  if (schema.default !== undefined) return schema.default;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.anyOf?.[0] !== undefined) return of(schema.anyOf[0]);
  if (schema.items !== undefined) return [of(schema.items)];
  if (schema.properties !== undefined) {
    return Object.fromEntries(Object.entries(schema.properties).map(([name, property]) => [name, of(property)]));
  }
  return plainExample(schema);
}

function plainExample({ type, minimum, format }: JsonSchema): unknown {
  switch (Array.isArray(type) ? type[0] : type) {
    case 'integer':
    case 'number':
      return minimum ?? 0;
    case 'boolean':
      return false;
    case 'object':
      return {};
    default:
      return format === 'date-time' ? '2026-01-02T03:04:05.678Z' : 'text';
  }
}
