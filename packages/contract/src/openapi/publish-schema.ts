import { z } from 'zod';
import type { JsonSchema } from './types.ts';

type Draft = z.core.JSONSchema.BaseSchema;

/** Turns schemas of the contract into schemas of the document; those with an id become components. */
export interface SchemaPublisher {
  /** As a caller sends it. */
  request(schema: z.ZodType): JsonSchema;
  /** As the service answers it. */
  response(schema: z.ZodType): JsonSchema;
  /** The components so far, by name. */
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

/** Finishes what zod made of one schema, its inner schemas being finished. */
function publishNode({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: Draft }): void {
  const { published, default: missing, examples } = z.globalRegistry.get(zodSchema) ?? {};
  if (published !== undefined) {
    replace(jsonSchema, { ...(published as Draft), ...annotationsOf(jsonSchema) });
  }
  // Of a transformed field zod leaves these out.
  if (missing !== undefined) jsonSchema.default = missing;
  if (examples !== undefined) jsonSchema.examples = examples as never;
  foldNull(jsonSchema);
  dropNoise(jsonSchema);
  const closed = zodSchema._zod.def.type === 'object' && zodSchema._zod.def.catchall === undefined;
  if (closed && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
}

function annotationsOf({ description, examples }: Draft): Draft {
  return { ...(description !== undefined && { description }), ...(examples !== undefined && { examples }) };
}

function replace(target: Draft, source: Draft): void {
  for (const key of Object.keys(target)) delete target[key];
  Object.assign(target, source);
}

/** Writes "this or null" as one schema with two types. */
function foldNull(schema: Draft): void {
  const [inner, none] = schema.anyOf ?? [];
  const foldable = schema.anyOf?.length === 2 && none?.type === 'null' && typeof inner?.type === 'string';
  if (!foldable) return;
  const { anyOf: _, ...own } = schema;
  const values = inner.enum === undefined ? {} : { enum: [...inner.enum, null] };
  replace(schema, { ...inner, type: [inner.type, 'null'] as never, ...values, ...own });
}

/** Bounds that only say "an exact integer", and the pattern beside a format that says it all. */
function dropNoise(schema: Draft): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.format === 'date-time') delete schema.pattern;
  delete schema.published;
}

function withComponentRefs(schema: Draft): JsonSchema {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/')) as JsonSchema;
}
