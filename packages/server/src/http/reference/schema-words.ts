import { type JsonSchema, withoutNulPattern } from '@mayfly/contract';
import { type Html, html } from './html.ts';
import { schemaName } from './resolve.ts';

/** The type of a schema in words; components are links. */
export function typeWords(schema: JsonSchema): Html {
  const name = schemaName(schema);
  if (name !== undefined) return html`<a href="#${name}">${name}</a>`;
  if (schema.anyOf !== undefined) return joined(schema.anyOf.map(typeWords), ' or ');
  if (schema.items !== undefined) return html`array of ${typeWords(schema.items)}`;
  if (typeof schema.additionalProperties === 'object') return html`${mapWords(schema.additionalProperties, schema)}`;
  return html`${kindWords(schema)}`;
}

function mapWords(values: JsonSchema, { type }: JsonSchema): Html {
  return html`object of ${typeWords(values)}${isNullable(type) && ' or null'}`;
}

function kindWords({ type, format }: JsonSchema): string {
  const kinds = (Array.isArray(type) ? type : [type]).filter((kind) => kind !== undefined);
  return kinds.map((kind) => (kind === 'string' && format !== undefined ? format : kind)).join(' or ');
}

function isNullable(type: JsonSchema['type']): boolean {
  return Array.isArray(type) && type.includes('null');
}

/** What a schema asks for beyond its type, one condition each. */
export function conditions(schema: JsonSchema): readonly Html[] {
  const { minLength, maxLength, minimum, maximum, pattern, propertyNames } = schema;
  const values = schema.enum?.filter((value) => value !== null);
  return [
    schema.const !== undefined && html`always ${code(schema.const)}`,
    values && joined(values.map(code), ' '),
    range(minimum, maximum, ''),
    range(minLength, maxLength, ' characters'),
    pattern !== undefined && patternWords(pattern),
    propertyNames?.pattern !== undefined && html`names match <code>${propertyNames.pattern}</code>`,
  ].filter((condition) => condition !== undefined && condition !== false);
}

/** What leaving the field out means; nothing for null, which says no more than that it is left out. */
export function defaultWords({ default: missing }: JsonSchema): Html | undefined {
  return missing === undefined || missing === null ? undefined : html`default ${code(missing)}`;
}

function patternWords(pattern: string): Html {
  if (pattern === withoutNulPattern) return html`no NUL characters`;
  return html`matches <code>${pattern}</code>`;
}

function range(least: number | undefined, most: number | undefined, unit: string): Html | undefined {
  const figure = (count: number) => count.toLocaleString('en-US');
  if (least !== undefined && most !== undefined) return html`${figure(least)} to ${figure(most)}${unit}`;
  return most === undefined ? undefined : html`at most ${figure(most)}${unit}`;
}

function code(value: unknown): Html {
  return html`<code>${typeof value === 'string' ? value : JSON.stringify(value)}</code>`;
}

function joined(parts: readonly Html[], separator: string): Html {
  return html`${parts.map((part, index) => (index === 0 ? part : html`${separator}${part}`))}`;
}
