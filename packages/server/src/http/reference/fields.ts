import type { JsonSchema } from '@mayfly/contract';
import { type Html, html, prose } from './html.ts';
import { conditions, defaultWords, typeWords } from './schema-words.ts';

/** A field or parameter as a reader looks it up. */
export interface Field {
  readonly name: string;
  /** Only said where it matters: of what a caller sends. */
  readonly isRequired?: boolean;
  readonly description?: string | undefined;
  readonly schema: JsonSchema;
}

/** The fields of an object schema; those of objects inside it under dotted names. */
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

/** A list of fields: name and type, then what to know about it. */
export function renderFields(fields: readonly Field[]): Html {
  return html`<dl class="fields">${fields.map(renderField)}</dl>`;
}

function renderField({ name, isRequired, description, schema }: Field): Html {
  const facts = [...conditions(schema), defaultWords(schema)].filter((fact) => fact !== undefined);
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
