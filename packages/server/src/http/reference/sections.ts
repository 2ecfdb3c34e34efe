import {
  exampleOf,
  type JsonSchema,
  type OpenApiDocument,
  type OperationObject,
  type ParameterObject,
  type ResponseObject,
} from '@mayfly/contract';
import { type Html, html, jsonCode, prose, shellCode } from './html.ts';
import { fieldsOf, isReference, joined, nameOf, renderFields, resolveReference, typeWords } from './render-schema.ts';
import { renderSamples } from './samples.ts';

/** An operation with its place in the document. */
interface PlacedOperation {
  readonly method: string;
  readonly path: string;
  readonly operation: OperationObject;
}

/** All operations, in document order. */
export function operationsOf({ paths }: OpenApiDocument): readonly PlacedOperation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

/** An operation: description, parameters, body, responses and errors, with an example call and its response beside them. */
export function renderOperation(document: OpenApiDocument, { method, path, operation }: PlacedOperation): Html {
  const parameters = operation.parameters.map((part) => resolveReference(document.components.parameters, part));
  const responses = Object.entries(operation.responses).filter(
    (entry): entry is [string, ResponseObject] => !isReference(entry[1]),
  );
  const shown = responses.find(([status]) => status === '201') ?? responses[0];
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
        <h4>Responses</h4>
        <ul class="answers">${responses.map(renderResponse)}</ul>
        <h4>Errors</h4>
        ${renderErrors(document, operation)}
      </div>
      <div class="sample">
        ${renderSamples(operation['x-codeSamples'], 'Request')}
        ${shown?.[1].content && html`<p class="label">Response ${shown[0]}</p>${renderExample(shown[1])}`}
      </div>
    </article>`;
}

function renderExample({ content }: ResponseObject): Html {
  const json = content?.['application/json'];
  return json === undefined
    ? shellCode(content?.['text/event-stream']?.example.trimEnd() ?? '')
    : jsonCode(json.example);
}

function renderParameters(title: string, parameters: readonly ParameterObject[], place: string): Html | undefined {
  const fields = parameters
    // Every operation accepts X-Request-Id; the chapter on requests covers it.
    .filter((parameter) => parameter.in === place && parameter.name !== 'X-Request-Id')
    .map(({ name, required, description, schema }) => ({ name, isRequired: required, description, schema }));
  return fields.length === 0 ? undefined : html`<h4>${title}</h4>${renderFields(fields)}`;
}

function renderBody(document: OpenApiDocument, { requestBody }: OperationObject): Html | undefined {
  if (requestBody === undefined) return undefined;
  const schema = resolveReference(document.components.schemas, requestBody.content['application/json'].schema);
  const note = requestBody.required ? undefined : html` <span class="note">optional</span>`;
  return html`<h4>Body${note}</h4>${renderFields(fieldsOf(schema, 'request'))}`;
}

function renderResponse([status, { description, content, headers }]: [string, ResponseObject]): Html {
  const location = headers.Location;
  const locationText = location === undefined || isReference(location) ? undefined : location.description;
  return html`
    <li>
      <p>
        <span class="status good">${status}</span>
        <span class="type">${contentWords(content)}</span>
      </p>
      <p>${prose(description)}${locationText !== undefined && html` <code>Location</code>: ${locationText}`}</p>
    </li>`;
}

function contentWords(content: ResponseObject['content']): Html {
  const json = content?.['application/json'];
  const words = json === undefined ? [] : [typeWords(json.schema)];
  if (content?.['text/event-stream'] !== undefined) words.push(html`server-sent events`);
  return words.length === 0 ? html`no body` : joined(words, ' or ');
}

/** The objects in responses. Request bodies are shown with their operations. */
export function objectNames({ components }: OpenApiDocument): readonly string[] {
  return Object.keys(components.schemas);
}

/** An object with its fields and an example. */
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

/** An error type and its status. */
interface PossibleError {
  readonly status: string;
  readonly type: string;
}

/** The errors that an operation can return, read from the names of its shared error responses (`429.quota_exceeded`). */
function possibleErrors({ responses }: OperationObject): readonly PossibleError[] {
  return Object.values(responses)
    .filter(isReference)
    .flatMap((reference) => {
      const [status = '', ...types] = nameOf(reference).split('.');
      return types.map((type) => ({ status, type }));
    });
}

/** The error types that every operation can return. */
function commonErrorTypes({ paths }: OpenApiDocument): ReadonlySet<string> {
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  const [first = [], ...others] = operations.map((operation) => possibleErrors(operation).map(({ type }) => type));
  return new Set(first.filter((type) => others.every((types) => types.includes(type))));
}

/** The errors specific to an operation, with what to do about each. Common errors are covered by the chapter on errors. */
function renderErrors(document: OpenApiDocument, operation: OperationObject): Html {
  const common = commonErrorTypes(document);
  const own = possibleErrors(operation).filter(({ type }) => !common.has(type));
  const commonNote = html`<p class="note">Plus the <a href="#errors">errors of every call</a>.</p>`;
  if (own.length === 0) return commonNote;
  return html`<ul class="errors">${own.map((error) => renderError(document, error))}</ul>${commonNote}`;
}

function renderError(document: OpenApiDocument, { status, type }: PossibleError): Html {
  const entry = document['x-error-table'].find((row) => row.type === type);
  return html`
    <li>
      <p><span class="status bad">${status}</span> <a href="#error-${type}"><code>${type}</code></a></p>
      <p>${prose(`${entry?.cause ?? ''} ${entry?.hint ?? ''}`)}</p>
    </li>`;
}
