import type { Operation } from '../operations/operation.ts';
import { requestIdPattern } from '../request-id.ts';
import type { SchemaPublisher } from './publish-schema.ts';
import type { JsonSchema, ParameterObject, Reference } from './types.ts';

/** The parameters that every operation takes. */
export const parameterComponents: Readonly<Record<string, ParameterObject>> = {
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    required: false,
    description:
      'The id of this request in the logs of the service. Without one, or with one of another form, it gets a fresh one.',
    schema: { type: 'string', pattern: requestIdPattern.source },
    example: 'my-request-1',
  },
};

const commonParameters: readonly Reference[] = [{ $ref: '#/components/parameters/RequestId' }];

/** Path, query and header parameters of an operation, in this order. */
export function parametersOf(operation: Operation, publisher: SchemaPublisher): (ParameterObject | Reference)[] {
  const { params, query, headers } = operation;
  const places = [
    ['path', params],
    ['query', query],
    ['header', headers],
  ] as const;
  const own = places.flatMap(([place, schema]) =>
    schema === undefined ? [] : parametersIn(place, publisher.request(schema)),
  );
  return [...own, ...commonParameters];
}

function parametersIn(place: ParameterObject['in'], object: JsonSchema): ParameterObject[] {
  return Object.entries(object.properties ?? {}).map(([name, { description, examples, ...schema }]) => ({
    name: place === 'header' ? headerName(name) : name,
    in: place,
    required: place === 'path' || (object.required ?? []).includes(name),
    ...(description !== undefined && { description }),
    schema,
    ...(examples !== undefined && { example: examples[0] as NonNullable<ParameterObject['example']> }),
  }));
}

/** `idempotency-key` as people write it. */
function headerName(name: string): string {
  return name.replaceAll(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
}
