import { exampleOf, type JsonSchema, type OpenApiDocument } from '@mayfly/contract';
import { jsonCode } from './code.ts';
import { fieldsOf, renderFields } from './fields.ts';
import { type Html, html, prose } from './html.ts';

/** The objects that answers are made of; bodies of requests stand with their operations. */
export function objectNames({ components }: OpenApiDocument): readonly string[] {
  return Object.keys(components.schemas).filter((name) => !name.endsWith('Request'));
}

/** One object with its fields and an example. */
export function renderObject({ components }: OpenApiDocument, name: string): Html {
  const schema: JsonSchema = components.schemas[name] ?? {};
  return html`
    <article class="operation" id="${name}">
      <div class="words">
        <h3><a href="#${name}">${name}</a></h3>
        ${schema.description !== undefined && html`<p>${prose(schema.description)}</p>`}
        ${renderFields(fieldsOf(schema, 'response'))}
      </div>
      <div class="sample">
        <p class="label">Example</p>
        ${jsonCode(exampleOf(schema, components.schemas))}
      </div>
    </article>`;
}
