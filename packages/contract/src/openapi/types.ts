/** The JSON Schema keywords that the document uses. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly propertyNames?: JsonSchema;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly allOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
}

/** A reference within the document, e.g. `#/components/headers/RetryAfter`. */
export interface Reference {
  readonly $ref: string;
}

export interface ParameterObject {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
  readonly example?: string | number | boolean;
}

export interface HeaderObject {
  readonly description: string;
  readonly required: boolean;
  readonly schema: JsonSchema;
}

export interface MediaTypeObject {
  readonly schema: JsonSchema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>;
}

/** All bodies are JSON. */
export interface JsonContent {
  readonly 'application/json': MediaTypeObject;
}

/** A stream of events, with an example as it is sent. */
export interface EventsContent {
  readonly schema: JsonSchema;
  readonly example: string;
}

/** A response is JSON, a stream of events, either of them by request, or empty. */
interface ResponseContent extends Partial<JsonContent> {
  readonly 'text/event-stream'?: EventsContent;
}

export interface RequestBodyObject {
  readonly required: boolean;
  readonly content: JsonContent;
}

export interface ResponseObject {
  readonly description: string;
  readonly headers: Readonly<Record<string, HeaderObject | Reference>>;
  /** Absent for an empty response. */
  readonly content?: ResponseContent;
  /** When the response is a stream of events instead. */
  readonly 'x-event-stream'?: { readonly when: string };
}

/** Responses by status. Errors are references to components. */
export type Responses = Readonly<Record<string, ResponseObject | Reference>>;

/** A program that calls an operation with the examples of the document, as documentation tools show it. */
export interface CodeSample {
  readonly lang: 'Shell' | 'TypeScript';
  /** What readers choose it by. */
  readonly label: string;
  readonly source: string;
}

export interface OperationObject {
  readonly operationId: string;
  readonly tags: readonly [string];
  readonly summary: string;
  readonly description?: string;
  readonly parameters: readonly (ParameterObject | Reference)[];
  readonly requestBody?: RequestBodyObject;
  readonly responses: Responses;
  readonly 'x-codeSamples': readonly CodeSample[];
}

/** Operations by method, in lower case. */
type PathItem = Readonly<Record<string, OperationObject>>;

interface Components {
  readonly schemas: Readonly<Record<string, JsonSchema>>;
  readonly parameters: Readonly<Record<string, ParameterObject>>;
  readonly headers: Readonly<Record<string, HeaderObject>>;
  readonly responses: Readonly<Record<string, ResponseObject>>;
  readonly securitySchemes: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** One row of the published error table. */
export interface PublishedError {
  readonly type: string;
  readonly statuses: readonly number[];
  readonly cause: string;
  readonly retry: string;
  /** Of the statuses that have another category. */
  readonly retryByStatus?: Readonly<Record<number, string>>;
  readonly hint: string;
}

/** The OpenAPI 3.1 document of this API. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: Readonly<Record<'title' | 'version' | 'summary' | 'description', string>> & {
    /** Of the software. */
    readonly license: { readonly name: string; readonly identifier: string };
  };
  readonly servers: readonly { readonly url: string }[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: Components;
  /** Every error type. */
  readonly 'x-error-table': readonly PublishedError[];
  /** What a client should do, per retry category. */
  readonly 'x-retry-categories': Readonly<Record<string, string>>;
  /** The limits in force, with the unit in the name. */
  readonly 'x-limits': Readonly<Record<string, number>>;
  /** The responses to an unknown path or method. */
  readonly 'x-unknown-path': { readonly responses: Responses };
}
