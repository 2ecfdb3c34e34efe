import { errorBodySchema } from '../errors/error-body.ts';
import { type ErrorEntry, errorTable, errorTypes } from '../errors/error-table.ts';
import { retryCategories } from '../errors/retry-categories.ts';
import { defineOperations } from '../operations/all-operations.ts';
import type { Operation } from '../operations/operation.ts';
import { ErrorResponses } from './error-responses.ts';
import { type GuideOptions, guide } from './guide.ts';
import { headerComponents } from './headers.ts';
import { markdownOf } from './markdown.ts';
import { publishOperation } from './operations.ts';
import { parameterComponents } from './parameters.ts';
import { schemaPublisher } from './publish-schema.ts';
import type { OpenApiDocument, OperationObject, PublishedError } from './types.ts';

/** The version of the interface, which its path prefix stands for. */
const interfaceVersion = '1.0.0';

const tagDescriptions: Readonly<Record<string, string>> = {
  Sandboxes: 'Create, look at, extend and destroy sandboxes.',
  Executions: 'Run commands in a sandbox and read their results.',
  Files: 'Write, read, list and delete files in a sandbox.',
  Ports: 'Reach servers in a sandbox from outside.',
  Account: 'What the account has, may and used.',
};

/** The whole interface under these limits as an OpenAPI 3.1 document. */
export function openApiDocument(options: GuideOptions): OpenApiDocument {
  const { limits, publicUrl } = options;
  const operations: readonly Operation[] = Object.values(defineOperations(limits));
  const publisher = schemaPublisher();
  const errors = new ErrorResponses();
  publisher.response(errorBodySchema);

  const paths: Record<string, Record<string, OperationObject>> = {};
  for (const operation of operations) {
    const published = publishOperation(operation, publisher, errors);
    paths[operation.path] = { ...paths[operation.path], [operation.method.toLowerCase()]: published };
  }
  const unknownPath = errors.of({ method: 'POST', errors: ['not_found'] });
  const tags = [...new Set(operations.map(({ tag }) => tag))];

  return {
    openapi: '3.1.1',
    info: {
      title: 'Mayfly',
      version: interfaceVersion,
      summary: 'Disposable sandboxes: a virtual machine of your own per call.',
      description: markdownOf(guide(options)),
    },
    servers: [{ url: `${publicUrl}/v1` }],
    security: [{ apiKey: [] }],
    tags: tags.map((name) => ({ name, description: tagDescriptions[name] ?? '' })),
    paths,
    components: {
      schemas: sorted(publisher.components),
      parameters: parameterComponents,
      headers: headerComponents,
      responses: sorted(errors.components),
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key of the account.' },
      },
    },
    'x-error-table': errorTypes.map(publishedError),
    'x-retry-categories': retryCategories,
    'x-limits': { ...limits },
    'x-unknown-path': { responses: unknownPath },
  };
}

function publishedError(type: (typeof errorTypes)[number]): PublishedError {
  const { statuses, cause, retry, hint }: ErrorEntry = errorTable[type];
  return { type, statuses, cause, retry, hint };
}

function sorted<Value>(record: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(record).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
