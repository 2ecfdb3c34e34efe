import type { OpenApiDocument, OperationObject, ParameterObject, ResponseObject } from '@mayfly/contract';
import { jsonCode, shellCode } from './code.ts';
import { curlOf } from './curl.ts';
import { renderErrors } from './errors.ts';
import { fieldsOf, renderFields } from './fields.ts';
import { type Html, html, prose } from './html.ts';
import { isReference, resolved } from './resolve.ts';
import { typeWords } from './schema-words.ts';

/** One operation where it stands in the document. */
export interface Placed {
  readonly method: string;
  readonly path: string;
  readonly operation: OperationObject;
}

/** The operations in the order of the document. */
export function operationsOf({ paths }: OpenApiDocument): readonly Placed[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

/** One operation: words, parameters, body, answers and errors; beside it a call and its answer. */
export function renderOperation(document: OpenApiDocument, { method, path, operation }: Placed): Html {
  const parameters = operation.parameters.map((part) => resolved(document.components.parameters, part));
  const answers = Object.entries(operation.responses).filter(
    (entry): entry is [string, ResponseObject] => !isReference(entry[1]),
  );
  const serverUrl = document.servers[0]?.url ?? '';
  const shown = answers.find(([status]) => status === '201') ?? answers[0];
  return html`
    <article class="operation" id="${operation.operationId}">
      <div class="words">
        <h3><a href="#${operation.operationId}">${operation.summary}</a></h3>
        <p class="call"><span class="method ${method.toLowerCase()}">${method}</span> <code>${path}</code></p>
        ${operation.description !== undefined && html`<p>${prose(operation.description)}</p>`}
        ${renderParameters('Path', parameters, 'path')}
        ${renderParameters('Query', parameters, 'query')}
        ${renderParameters('Headers', parameters, 'header')}
        ${renderBody(document, operation)}
        <h4>Answers</h4>
        <ul class="answers">${answers.map(renderAnswer)}</ul>
        <h4>Errors</h4>
        ${renderErrors(document, operation)}
      </div>
      <div class="sample">
        <p class="label">Call</p>
        ${shellCode(curlOf({ serverUrl, method, path, operation, parameters }))}
        ${shown && html`<p class="label">Answer ${shown[0]}</p>${jsonCode(shown[1].content['application/json'].example)}`}
      </div>
    </article>`;
}

function renderParameters(title: string, parameters: readonly ParameterObject[], place: string): Html | undefined {
  const fields = parameters
    // Every call takes it; it stands in the chapter on requests.
    .filter((parameter) => parameter.in === place && parameter.name !== 'X-Request-Id')
    .map(({ name, required, description, schema }) => ({ name, isRequired: required, description, schema }));
  return fields.length === 0 ? undefined : html`<h4>${title}</h4>${renderFields(fields)}`;
}

function renderBody(document: OpenApiDocument, { requestBody }: OperationObject): Html | undefined {
  if (requestBody === undefined) return undefined;
  const schema = resolved(document.components.schemas, requestBody.content['application/json'].schema);
  const note = requestBody.required ? undefined : html` <span class="note">may be left out</span>`;
  return html`<h4>Body${note}</h4>${renderFields(fieldsOf(schema, 'request'))}`;
}

function renderAnswer([status, { description, content, headers }]: [string, ResponseObject]): Html {
  const location = headers.Location;
  const place = location === undefined || isReference(location) ? undefined : location.description;
  return html`
    <li>
      <p>
        <span class="status good">${status}</span>
        <span class="type">${typeWords(content['application/json'].schema)}</span>
      </p>
      <p>${prose(description)}${place !== undefined && html` <code>Location</code>: ${place}`}</p>
    </li>`;
}
