import { type JsonSchema, type Reference, withoutNulPattern } from '@mayfly/contract';
import { type Html, html, prose } from './html.ts';

/** A field or parameter in a list. */
interface Field {
  readonly name: string;
  /** Set only for fields that the caller sends. */
  readonly isRequired?: boolean;
  readonly description?: string | undefined;
  readonly schema: JsonSchema;
}

/** The fields of an object schema. Fields of nested objects get dotted names. */
export function fieldsOf(schema: JsonSchema, of: 'request' | 'response', prefix = ''): readonly Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, property]) => {
    const name = `${prefix}${key}`;
    const isRequired = of === 'request' && (schema.required ?? []).includes(key);
    const inner = property.items?.properties === undefined ? property : property.items;
    const innerPrefix = inner === property ? `${name}.` : `${name}[].`;
    return [
      { name, isRequired, description: property.description, schema: property },
      ...fieldsOf(inner, of, innerPrefix),
    ];
  });
}

/** A list of fields with name, type, description and constraints. */
export function renderFields(fields: readonly Field[]): Html {
  return html`<dl class="fields">${fields.map(renderField)}</dl>`;
}

function renderField({ name, isRequired, description, schema }: Field): Html {
  const facts = [...constraints(schema), defaultWords(schema)].filter((fact) => fact !== undefined);
  return html`
    <div>
      <dt>
        <code class="name">${name}</code>
        <span class="type">${typeWords(schema)}</span>
        ${isRequired && html`<span class="required">required</span>`}
      </dt>
      <dd>
        ${description !== undefined && html`<p>${prose(description)}</p>`}
        ${facts.length > 0 && html`<ul class="facts">${facts.map((fact) => html`<li>${fact}</li>`)}</ul>`}
      </dd>
    </div>`;
}

/** The type of a schema in words, with links to named objects. */
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

/** The constraints of a schema beyond its type. */
function constraints(schema: JsonSchema): readonly Html[] {
  const { minLength, maxLength, minimum, maximum, pattern, propertyNames } = schema;
  const values = schema.enum?.filter((value) => value !== null);
  return [
    schema.const !== undefined && html`always ${code(schema.const)}`,
    values && joined(values.map(code), ' '),
    range(minimum, maximum, ''),
    range(minLength, maxLength, ' characters'),
    pattern !== undefined && patternWords(pattern),
    propertyNames?.pattern !== undefined && html`names match <code>${propertyNames.pattern}</code>`,
  ].filter((constraint) => constraint !== undefined && constraint !== false);
}

/** The default value. A default of null says nothing and is left out. */
function defaultWords({ default: missing }: JsonSchema): Html | undefined {
  return missing === undefined || missing === null ? undefined : html`default ${code(missing)}`;
}

function patternWords(pattern: string): Html {
  if (pattern === withoutNulPattern) return html`no NUL characters`;
  return html`matches <code>${pattern}</code>`;
}

function range(least: number | undefined, most: number | undefined, unit: string): Html | undefined {
  const format = (count: number) => count.toLocaleString('en-US');
  if (least !== undefined && most !== undefined) return html`${format(least)} to ${format(most)}${unit}`;
  return most === undefined ? undefined : html`at most ${format(most)}${unit}`;
}

function code(value: unknown): Html {
  return html`<code>${typeof value === 'string' ? value : JSON.stringify(value)}</code>`;
}

export function joined(parts: readonly Html[], separator: string): Html {
  return html`${parts.map((part, index) => (index === 0 ? part : html`${separator}${part}`))}`;
}

/** The component name that a reference points to. */
export function nameOf({ $ref }: Reference): string {
  return $ref.split('/').at(-1) ?? '';
}

export function isReference(part: object): part is Reference {
  return '$ref' in part && typeof part.$ref === 'string';
}

/** The component that a reference points to, or the part itself if it is not a reference. */
export function resolveReference<Part extends object>(
  components: Readonly<Record<string, Part>>,
  part: Part | Reference,
): Part {
  if (!isReference(part)) return part;
  const found = components[nameOf(part)];
  if (found === undefined) throw new Error(`${part.$ref} is not in the document`);
  return found;
}

/** The component name of a schema that is a reference. */
function schemaName(schema: JsonSchema): string | undefined {
  return isReference(schema) ? nameOf(schema) : undefined;
}
