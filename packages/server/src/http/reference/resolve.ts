import type { JsonSchema, Reference } from '@mayfly/contract';

/** The name at the end of a reference. */
export function nameOf({ $ref }: Reference): string {
  return $ref.split('/').at(-1) ?? '';
}

export function isReference(part: object): part is Reference {
  return '$ref' in part && typeof part.$ref === 'string';
}

/** What a reference to one of these components stands for, or the thing itself. */
export function resolved<Part extends object>(
  components: Readonly<Record<string, Part>>,
  part: Part | Reference,
): Part {
  if (!isReference(part)) return part;
  const found = components[nameOf(part)];
  if (found === undefined) throw new Error(`${part.$ref} is not in the document`);
  return found;
}

/** A schema that is a reference shows under the name of its component. */
export function schemaName(schema: JsonSchema): string | undefined {
  return isReference(schema) ? nameOf(schema) : undefined;
}
