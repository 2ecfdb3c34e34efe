import type { JsonSchema, OpenApiDocument, OperationObject, ParameterObject } from '@mayfly/contract';
import fc from 'fast-check';
import type { FuzzRequest } from '../fuzz-request.ts';
import { changeObject, changeText } from './change.ts';
import { escaped, hostilePathPart, hostileQuery } from './targets.ts';
import { validObject, validValue } from './valid.ts';
import { garbage, hostileHeaders } from './wire.ts';

/** How often an operation is taken: what reaches a machine costs the most. One that is not named here gets 10. */
const weights: Readonly<Record<string, number>> = { createSandbox: 5, deleteSandbox: 5 };
/** How many of an operation's requests are valid, out of ten. */
const validTenths: Readonly<Record<string, number>> = { createSandbox: 1, runCommand: 3 };

/** An id for a path: of what exists, of what is gone, of nothing. */
const idFor = ({ operationId }: OperationObject, path: string): fc.Arbitrary<string> => {
  const at = (kind: string) => fc.nat({ max: 999 }).map((number) => `@${kind}${number}@`);
  if (operationId === 'deleteSandbox') return fc.oneof(at('victim'), at('gone'));
  const existing = at(path.startsWith('/executions') ? 'execution' : 'live');
  return fc.oneof(
    { weight: 8, arbitrary: existing },
    { weight: 1, arbitrary: at('gone') },
    { weight: 1, arbitrary: at('victim') },
  );
};

const queryText = (query: Record<string, unknown>): string => {
  const pairs = Object.entries(query).filter(([, value]) => value !== null);
  return pairs.length === 0
    ? ''
    : `?${pairs.map(([name, value]) => `${escaped(name)}=${escaped(String(value))}`).join('&')}`;
};

/** A request of an operation as it should be. */
const validRequest = (
  document: OpenApiDocument,
  method: string,
  path: string,
  operation: OperationObject,
): fc.Arbitrary<FuzzRequest> => {
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
      // A random command must not run for the minute that is the default.
      body: body && Buffer.from(JSON.stringify('command' in body ? { timeout_ms: 1000, ...body } : body)),
    }));
};

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

/** The same request with something changed: its body, the text of it, its path, query, headers, method or framing. */
const change = (request: FuzzRequest): fc.Arbitrary<FuzzRequest> => {
  const json = Buffer.from(request.body ?? '').toString();
  const withBody = (body: Uint8Array): FuzzRequest => ({ ...request, kind: 'changed', body });
  const hostile = (part: Partial<FuzzRequest>): FuzzRequest => ({ ...request, kind: 'hostile', ...part });
  const [path = '', query] = request.target.split('?');
  // The sandboxes that stay are not deleted.
  const isAllowed = (method: string) => method !== 'DELETE' || !/^\/sandboxes\/@live\d+@$/.test(path);
  const bodies =
    json === ''
      ? []
      : [
          {
            weight: 10,
            arbitrary: changeObject(JSON.parse(json) as Record<string, unknown>).map((body) =>
              withBody(Buffer.from(JSON.stringify(body) ?? '')),
            ),
          },
          { weight: 5, arbitrary: changeText(json).map(withBody) },
        ];
  return fc.oneof(
    ...bodies,
    { weight: 3, arbitrary: hostileQuery.map((text) => hostile({ target: path + text })) },
    {
      weight: 3,
      arbitrary: fc.tuple(hostilePathPart, fc.nat({ max: 4 })).map(([part, at]) =>
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
};

/** Requests of every operation that a description publishes, and garbage. */
export const anyRequest = (document: OpenApiDocument): fc.Arbitrary<FuzzRequest> => {
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
        { weight: 10 - tenths, arbitrary: valid.chain(change) },
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
};
