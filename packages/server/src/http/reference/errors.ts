import type { OpenApiDocument, OperationObject } from '@mayfly/contract';
import { type Html, html, prose } from './html.ts';
import { isReference, nameOf } from './resolve.ts';

/** An error type with the status it comes with. */
interface Possible {
  readonly status: string;
  readonly type: string;
}

/** The errors an operation can answer: its responses that are components are named by status and types. */
function possibleErrors({ responses }: OperationObject): readonly Possible[] {
  return Object.values(responses)
    .filter(isReference)
    .flatMap((reference) => {
      const [status = '', ...types] = nameOf(reference).split('.');
      return types.map((type) => ({ status, type }));
    });
}

/** The error types that every operation has. */
export function commonErrorTypes({ paths }: OpenApiDocument): ReadonlySet<string> {
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  const [first = [], ...others] = operations.map((operation) => possibleErrors(operation).map(({ type }) => type));
  return new Set(first.filter((type) => others.every((types) => types.includes(type))));
}

/** The errors of one operation with what to do about each; those that all have stay in the chapter on errors. */
export function renderErrors(document: OpenApiDocument, operation: OperationObject): Html {
  const common = commonErrorTypes(document);
  const own = possibleErrors(operation).filter(({ type }) => !common.has(type));
  const everywhere = html`<p class="note">And what <a href="#errors">every call can answer</a>.</p>`;
  if (own.length === 0) return everywhere;
  return html`<ul class="errors">${own.map((error) => renderError(document, error))}</ul>${everywhere}`;
}

function renderError(document: OpenApiDocument, { status, type }: Possible): Html {
  const entry = document['x-error-table'].find((row) => row.type === type);
  return html`
    <li>
      <p><span class="status bad">${status}</span> <a href="#error-${type}"><code>${type}</code></a></p>
      <p>${prose(`${entry?.cause ?? ''} ${entry?.hint ?? ''}`)}</p>
    </li>`;
}
