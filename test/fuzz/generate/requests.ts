import type { JsonSchema, OpenApiDocument, OperationObject, ParameterObject } from '@mayfly/contract';
import fc from 'fast-check';
import type { FuzzRequest } from '../fuzz-request.ts';
import { garbage, hostileHeaders, hostilePathSegment, hostileQuery, urlEncode } from './hostile-wire.ts';
import { mutateObject, mutateText } from './mutate.ts';
import { validObject, validValue } from './valid.ts';

/** How often an operation is generated; 10 unless it is listed. Creating, saving and deleting machines is expensive. */
const weights: Readonly<Record<string, number>> = {
  createSandbox: 5,
  deleteSandbox: 5,
  createSnapshot: 1,
  deleteSnapshot: 3,
  forkSandbox: 1,
  rollbackSandbox: 1,
};
/** How many of ten requests of an operation are valid; 4 unless it is listed. */
const validTenths: Readonly<Record<string, number>> = {
  createSandbox: 1,
  runCommand: 3,
  createSnapshot: 2,
  forkSandbox: 2,
  rollbackSandbox: 3,
};

/** A placeholder for an id of an existing or deleted resource. */
function idFor({ operationId }: OperationObject, path: string): fc.Arbitrary<string> {
  const at = (kind: string) => fc.nat({ max: 999 }).map((number) => `@${kind}${number}@`);
  if (operationId === 'deleteSandbox') return fc.oneof(at('temporary'), at('deleted'));
  if (path.startsWith('/snapshots')) return at('snapshot');
  const existing = at(path.startsWith('/executions') ? 'execution' : 'permanent');
  return fc.oneof(
    { weight: 8, arbitrary: existing },
    { weight: 1, arbitrary: at('deleted') },
    { weight: 1, arbitrary: at('temporary') },
  );
}

function queryText(query: Record<string, unknown>): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== null);
  return pairs.length === 0
    ? ''
    : `?${pairs.map(([name, value]) => `${urlEncode(name)}=${urlEncode(String(value))}`).join('&')}`;
}

/** A valid request of an operation. */
function validRequest(
  document: OpenApiDocument,
  method: string,
  path: string,
  operation: OperationObject,
): fc.Arbitrary<FuzzRequest> {
  const parameters = operation.parameters.filter((one): one is ParameterObject => 'name' in one);
  const named = (place: string): JsonSchema => {
    const here = parameters.filter((one) => one.in === place);
    const properties = Object.fromEntries(here.map(({ name, schema }) => [name, schema]));
    return { properties, required: here.filter(({ required }) => required).map(({ name }) => name) };
  };
  const { id: _, ...otherPathSchemas } = named('path').properties ?? {};
  const bodySchema = operation.requestBody?.content['application/json'].schema;
  const resolved = bodySchema?.$ref ? document.components.schemas[bodySchema.$ref.split('/').at(-1) ?? ''] : bodySchema;
  const others = fc.record(
    Object.fromEntries(Object.entries(otherPathSchemas).map(([name, schema]) => [name, validValue(name, schema)])),
  );
  return fc
    .record({
      id: idFor(operation, path),
      others,
      query: validObject(named('query')),
      body: resolved ? validObject(resolved) : fc.constant(undefined),
    })
    .map(({ id, others: filled, query, body }) => ({
      operation: operation.operationId,
      kind: 'valid',
      method: method.toUpperCase(),
      target:
        path.replaceAll(/\{(\w+)\}/g, (__, name: string) => (name === 'id' ? id : String(filled[name]))) +
        queryText(query),
      headers: [],
      framing: 'length',
      // A random command must not run for the default timeout of a minute.
      body: body && Buffer.from(JSON.stringify('command' in body ? { timeout_ms: 1000, ...body } : body)),
    }));
}

const methods = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'CONNECT',
  'get',
  'FOO',
  '',
];

/** Mutates one part of a request: its body, path, query, headers, method or framing. */
function mutateRequest(request: FuzzRequest): fc.Arbitrary<FuzzRequest> {
  const json = Buffer.from(request.body ?? '').toString();
  const withBody = (body: Uint8Array): FuzzRequest => ({ ...request, kind: 'mutated', body });
  const hostile = (part: Partial<FuzzRequest>): FuzzRequest => ({ ...request, kind: 'hostile', ...part });
  const [path = '', query] = request.target.split('?');
  // The permanent sandboxes must not be deleted.
  const isAllowed = (method: string) => method !== 'DELETE' || !/^\/sandboxes\/@permanent\d+@$/.test(path);
  const bodies =
    json === ''
      ? []
      : [
          {
            weight: 10,
            arbitrary: mutateObject(JSON.parse(json) as Record<string, unknown>).map((body) =>
              withBody(Buffer.from(JSON.stringify(body) ?? '')),
            ),
          },
          { weight: 5, arbitrary: mutateText(json).map(withBody) },
        ];
  return fc.oneof(
    ...bodies,
    { weight: 3, arbitrary: hostileQuery.map((text) => hostile({ target: path + text })) },
    {
      weight: 3,
      arbitrary: fc.tuple(hostilePathSegment, fc.nat({ max: 4 })).map(([part, at]) =>
        hostile({
          target:
            [...path.split('/').slice(0, 2 + at), part, ...path.split('/').slice(3 + at)].join('/') +
            (query ? `?${query}` : ''),
        }),
      ),
    },
    { weight: 4, arbitrary: hostileHeaders.map((headers) => hostile({ headers })) },
    { weight: 1, arbitrary: fc.constantFrom(...methods.filter(isAllowed)).map((method) => hostile({ method })) },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom('chunked' as const, 'announces-more' as const, 'announces-less' as const)
        .map((framing) => hostile({ framing })),
    },
  );
}

/** Requests for every operation of an OpenAPI document, and garbage. */
export function anyRequest(document: OpenApiDocument): fc.Arbitrary<FuzzRequest> {
  const published = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
  );
  const ofOperations = published.map(({ path, method, operation }) => {
    const valid = validRequest(document, method, path, operation);
    const tenths = validTenths[operation.operationId] ?? 4;
    return {
      weight: weights[operation.operationId] ?? 10,
      arbitrary: fc.oneof(
        { weight: tenths, arbitrary: valid },
        { weight: 10 - tenths, arbitrary: valid.chain(mutateRequest) },
      ),
    };
  });
  const noise = garbage.map<FuzzRequest>((bytes) => ({
    operation: 'garbage',
    kind: 'garbage',
    method: '',
    target: '',
    headers: [],
    framing: 'length',
    bytes,
  }));
  return fc.oneof(...ofOperations, { weight: 8, arbitrary: noise });
}
