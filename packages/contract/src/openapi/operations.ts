import type { Operation } from '../operations/operation.ts';
import type { ErrorResponses } from './error-responses.ts';
import { exampleOf } from './example.ts';
import { commonHeaders, locationHeaders } from './headers.ts';
import { parametersOf } from './parameters.ts';
import type { SchemaPublisher } from './publish-schema.ts';
import type { JsonContent, JsonSchema, OperationObject, RequestBodyObject, ResponseObject } from './types.ts';

/** Publishes one operation; its schemas and errors become components. */
export function publishOperation(
  operation: Operation,
  publisher: SchemaPublisher,
  errors: ErrorResponses,
): OperationObject {
  const { id, tag, summary, description, body } = operation;
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    parameters: parametersOf(operation, publisher),
    ...(body !== undefined && { requestBody: requestBodyOf(id, body, publisher) }),
    responses: { ...answersOf(operation, publisher), ...errors.of(operation) },
  };
}

function requestBodyOf(
  id: string,
  body: NonNullable<Operation['body']>,
  publisher: SchemaPublisher,
): RequestBodyObject {
  const name = `${id.charAt(0).toUpperCase()}${id.slice(1)}Request`;
  publisher.components[name] = publisher.request(body);
  return {
    required: !body.safeParse(undefined).success,
    content: content({ $ref: `#/components/schemas/${name}` }, publisher),
  };
}

function answersOf(operation: Operation, publisher: SchemaPublisher): Record<string, ResponseObject> {
  const { responses, outcomes, location } = operation;
  const answers = Object.entries(responses).map(([status, schema]) => {
    const located = status === '201' && location !== undefined;
    const answer: ResponseObject = {
      description: outcomes[Number(status)] ?? '',
      headers: { ...commonHeaders, ...(located && locationHeaders(location)) },
      content: content(publisher.response(schema), publisher),
    };
    return [status, answer];
  });
  return Object.fromEntries(answers);
}

function content(schema: JsonSchema, { components }: SchemaPublisher): JsonContent {
  return { 'application/json': { schema, example: exampleOf(schema, components) } };
}
