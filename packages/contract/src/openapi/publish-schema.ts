import { z } from 'zod';
import type { JsonSchema } from './types.ts';

type Draft = z.core.JSONSchema.BaseSchema;

/** Converts zod schemas to JSON Schema. Schemas with an id become components. */
export interface SchemaPublisher {
  /** The schema of what a caller sends. */
  request(schema: z.ZodType): JsonSchema;
  /** The schema of what the service returns. */
  response(schema: z.ZodType): JsonSchema;
  /** Components collected so far, by name. */
  readonly components: Record<string, JsonSchema>;
}

export function schemaPublisher(): SchemaPublisher {
  const components: Record<string, JsonSchema> = {};
  const publish = (schema: z.ZodType, io: 'input' | 'output'): JsonSchema => {
    const {
      $schema: _,
      $defs,
      ...root
    } = z.toJSONSchema(schema, { io, unrepresentable: 'any', override: publishNode });
    for (const [name, component] of Object.entries($defs ?? {})) components[name] = withComponentRefs(component);
    return withComponentRefs(root);
  };
  return {
    components,
    request: (schema) => publish(schema, 'input'),
    response: (schema) => publish(schema, 'output'),
  };
}

/** Post-processes the JSON Schema of one node. Zod calls it for inner schemas first. */
function publishNode({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: Draft }): void {
  const { published, default: defaultValue, examples } = z.globalRegistry.get(zodSchema) ?? {};
  if (published === false) {
    replace(jsonSchema, { published });
    return;
  }
  if (published !== undefined) {
    replace(jsonSchema, { ...(published as Draft), ...annotationsOf(jsonSchema) });
  }
  // Zod drops these for transformed fields.
  if (defaultValue !== undefined) jsonSchema.default = defaultValue;
  if (examples !== undefined) jsonSchema.examples = examples as never;
  foldNull(jsonSchema);
  dropNoise(jsonSchema);
  dropUnpublished(jsonSchema);
  const closed = zodSchema._zod.def.type === 'object' && zodSchema._zod.def.catchall === undefined;
  if (closed && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
}

/** Drops properties that the document should not show. */
function dropUnpublished({ properties }: Draft): void {
  for (const [name, property] of Object.entries(properties ?? {})) {
    if (typeof property === 'object' && property.published === false) delete properties?.[name];
  }
}

function annotationsOf({ description, examples }: Draft): Draft {
  return { ...(description !== undefined && { description }), ...(examples !== undefined && { examples }) };
}

function replace(target: Draft, source: Draft): void {
  for (const key of Object.keys(target)) delete target[key];
  Object.assign(target, source);
}

/** Rewrites `anyOf: [X, null]` as X with the type `[…, 'null']`. */
function foldNull(schema: Draft): void {
  const [inner, none] = schema.anyOf ?? [];
  const foldable = schema.anyOf?.length === 2 && none?.type === 'null' && typeof inner?.type === 'string';
  if (!foldable) return;
  const { anyOf: _, ...own } = schema;
  const values = inner.enum === undefined ? {} : { enum: [...inner.enum, null] };
  replace(schema, { ...inner, type: [inner.type, 'null'] as never, ...values, ...own });
}

/** Drops the safe-integer bounds, and the pattern that zod adds to a date-time format. */
function dropNoise(schema: Draft): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.format === 'date-time') delete schema.pattern;
  delete schema.published;
}

function withComponentRefs(schema: Draft): JsonSchema {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/')) as JsonSchema;
}

/** Builds a valid value from the examples in a schema. */
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
