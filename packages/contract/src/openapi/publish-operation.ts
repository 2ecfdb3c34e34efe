import { requestIdPattern } from '../fields.ts';
import type { EventStream, Operation } from '../operations/operation.ts';
import { curlOf, type ExampleCall } from './curl-sample.ts';
import { exampleOf, type SchemaPublisher } from './publish-schema.ts';
import { commonHeaders, type ErrorResponses, locationHeaders } from './responses.ts';
import type {
  EventsContent,
  JsonContent,
  JsonSchema,
  OperationObject,
  ParameterObject,
  Reference,
  RequestBodyObject,
  ResponseObject,
} from './types.ts';
import { type OperationId, typescriptOf } from './typescript-samples.ts';

interface PublishContext {
  readonly publisher: SchemaPublisher;
  readonly errors: ErrorResponses;
  /** The base of the paths, for samples. */
  readonly serverUrl: string;
}

/** Describes one operation. Its schemas and errors are added to the components. */
export function publishOperation(
  operation: Operation & { readonly id: OperationId },
  { publisher, errors, serverUrl }: PublishContext,
): OperationObject {
  const { id, tag, method, path, summary, description, body } = operation;
  const parameters = parametersOf(operation, publisher);
  const requestBody = body && requestBodyOf(body, publisher);
  const call: ExampleCall = { method, path, parameters, requestBody };
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    parameters: [...parameters, ...commonParameters],
    ...(requestBody !== undefined && { requestBody }),
    responses: { ...responsesOf(operation, publisher), ...errors.of(operation) },
    'x-codeSamples': [
      { lang: 'Shell', label: 'curl', source: curlOf(call, serverUrl) },
      { lang: 'TypeScript', label: 'TypeScript', source: typescriptOf(id, call) },
    ],
  };
}

/** The schema is inline: of a component, generators may take a field with a default for one that is always there. */
function requestBodyOf(body: NonNullable<Operation['body']>, publisher: SchemaPublisher): RequestBodyObject {
  return {
    required: !body.safeParse(undefined).success,
    content: content(publisher.request(body), publisher),
  };
}

function responsesOf(operation: Operation, publisher: SchemaPublisher): Record<string, ResponseObject> {
  const { outcomes, location, eventsWhen } = operation;
  const published = Object.entries(outcomes).map(([status, description]) => {
    const located = (status === '201' || status === '202') && location !== undefined;
    const response: ResponseObject = {
      description,
      headers: { ...commonHeaders, ...(located && locationHeaders(location)) },
      ...contentOf(operation, Number(status), publisher),
      ...(status === '200' && eventsWhen !== undefined && { 'x-event-stream': { when: eventsWhen } }),
    };
    return [status, response];
  });
  return Object.fromEntries(published);
}

/** The body of a success: JSON, events, either of them, or none. */
function contentOf(
  { responses, events }: Operation,
  status: number,
  publisher: SchemaPublisher,
): Pick<ResponseObject, 'content'> {
  const schema = responses[status];
  const json = schema && content(publisher.response(schema), publisher);
  const stream = status === 200 && events !== undefined ? { 'text/event-stream': eventContent(events) } : undefined;
  return json === undefined && stream === undefined ? {} : { content: { ...json, ...stream } };
}

function content(schema: JsonSchema, { components }: SchemaPublisher): JsonContent {
  return { 'application/json': { schema, example: exampleOf(schema, components) } };
}

function eventContent({ description, example }: EventStream): EventsContent {
  return { schema: { type: 'string', description }, example };
}

/** Parameters of every operation, by component name. */
export const parameterComponents: Readonly<Record<string, ParameterObject>> = {
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    required: false,
    description:
      'An id for this request in the service logs: 1 to 128 visible ASCII characters. Otherwise the service generates one.',
    schema: { type: 'string', pattern: requestIdPattern.source },
    example: 'my-request-1',
  },
};

const commonParameters: readonly Reference[] = [{ $ref: '#/components/parameters/RequestId' }];

/** Path, query and header parameters of its own, in this order. */
function parametersOf(operation: Operation, publisher: SchemaPublisher): readonly ParameterObject[] {
  const { params, query, headers } = operation;
  const places = [
    ['path', params],
    ['query', query],
    ['header', headers],
  ] as const;
  return places.flatMap(([place, schema]) =>
    schema === undefined ? [] : parametersIn(place, publisher.request(schema)),
  );
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

/** `idempotency-key` becomes `Idempotency-Key`. */
function headerName(name: string): string {
  return name.replaceAll(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
}
