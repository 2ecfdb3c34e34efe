import { type ErrorEntry, errorBodySchema, errorTable, errorTypes, retryCategories } from '../error-table.ts';
import { fixedLimits } from '../limits.ts';
import { defineOperations } from '../operations/all-operations.ts';
import { type Block, type Chapter, type GuideOptions, guide } from './guide.ts';
import { parameterComponents, publishOperation } from './publish-operation.ts';
import { schemaPublisher } from './publish-schema.ts';
import { ErrorResponses, headerComponents } from './responses.ts';
import type { OpenApiDocument, OperationObject, PublishedError } from './types.ts';

/** The full version behind the path prefix /v1. */
const apiVersion = '1.0.0';

const tagDescriptions: Readonly<Record<string, string>> = {
  Sandboxes: 'Create, inspect, extend and destroy sandboxes.',
  Executions: 'Run commands in a sandbox and read their results.',
  Files: 'Write, read, list and delete files in a sandbox.',
  Terminals: 'Use a shell in a sandbox, with its screen, over a WebSocket.',
  Ports: 'Expose servers in a sandbox on public URLs.',
  Snapshots: 'Save memory and disk of a running sandbox, and manage what was saved.',
  Account: 'Balance, limits and usage, and tickets for browsers.',
};

/** The OpenAPI 3.1 document of the API with the given limits. */
export function openApiDocument(options: GuideOptions): OpenApiDocument {
  const { limits, publicUrl } = options;
  const serverUrl = `${publicUrl}/v1`;
  const operations = Object.values(defineOperations(limits));
  const publisher = schemaPublisher();
  const errors = new ErrorResponses();
  publisher.response(errorBodySchema);

  const paths: Record<string, Record<string, OperationObject>> = {};
  for (const operation of operations) {
    const published = publishOperation(operation, { publisher, errors, serverUrl });
    paths[operation.path] = { ...paths[operation.path], [operation.method.toLowerCase()]: published };
  }
  const unknownPath = errors.of({ method: 'POST', errors: ['not_found'] });
  const tags = [...new Set(operations.map(({ tag }) => tag))];

  return {
    openapi: '3.1.1',
    info: {
      title: 'Mayfly',
      version: apiVersion,
      summary: 'Disposable sandboxes: every sandbox is a virtual machine of its own.',
      description: markdownOf(guide(options)),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: serverUrl }],
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
    'x-limits': { ...limits, ...fixedLimits },
    'x-unknown-path': { responses: unknownPath },
  };
}

function publishedError(type: (typeof errorTypes)[number]): PublishedError {
  const { statuses, cause, retry, retryByStatus, hint }: ErrorEntry = errorTable[type];
  return { type, statuses, cause, retry, ...(retryByStatus && { retryByStatus }), hint };
}

function sorted<Value>(record: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(record).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** OpenAPI descriptions are Markdown. */
function markdownOf(chapters: readonly Chapter[]): string {
  return chapters.map(({ title, blocks }) => [`## ${title}`, ...blocks.map(blockOf)].join('\n\n')).join('\n\n');
}

function blockOf(block: Block): string {
  if ('text' in block) return block.text;
  if ('code' in block) return fenced('', block.code);
  if ('samples' in block)
    return block.samples.map(({ lang, source }) => fenced(lang.toLowerCase(), source)).join('\n\n');
  if ('json' in block) return fenced('json', JSON.stringify(block.json, null, 2));
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(block.head), line(block.head.map(() => '---')), ...block.rows.map(line)].join('\n');
}

function fenced(language: string, code: string): string {
  return `\`\`\`${language}\n${code}\n\`\`\``;
}
