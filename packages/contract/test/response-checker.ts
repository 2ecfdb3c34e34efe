import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import { defaultLimits } from '../src/limits.ts';
import { openApiDocument } from '../src/openapi/document.ts';
import type { HeaderObject, OpenApiDocument, ResponseObject, Responses } from '../src/openapi/types.ts';

/** An HTTP response with the request that it belongs to. */
export interface ApiResponse {
  readonly method: string;
  /** Including the version prefix. May have an origin and a query string. */
  readonly path: string;
  readonly status: number;
  /** A plain object has its names in lower case. */
  readonly headers: Headers | Readonly<Record<string, string | number | readonly string[] | undefined>>;
  readonly body: string;
}

/** Returns every deviation from the documentation. Empty for a valid response. */
export type CheckResponse = (actual: ApiResponse) => string[];

const documentId = 'openapi.json';
const mediaType = 'application/json';
const eventsType = 'text/event-stream';

/** Checks responses against a published OpenAPI document. */
export function responseChecker(document: OpenApiDocument): CheckResponse {
  const ajv = new Ajv2020({ strict: false, allErrors: true, formats: fullFormats });
  ajv.addSchema({ ...document, $id: documentId });
  const compiled = new Map<string, ValidateFunction>();
  const problemsAt = (pointer: string, value: unknown): string[] => {
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `${documentId}#${pointer}` });
    compiled.set(pointer, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || 'it'} ${message ?? ''}`);
  };
  /** Follows a reference; returns its target and the target's JSON pointer. */
  const resolve = <Part extends object>(part: Part | { $ref: string }, pointer: string): [Part, string] => {
    if (!('$ref' in part)) return [part, pointer];
    const [, , kind = '', name = ''] = part.$ref.split('/');
    const kinds: Readonly<Record<string, Readonly<Record<string, unknown>>>> = { ...document.components };
    return [kinds[kind]?.[name] as Part, `/components/${kind}/${escaped(name)}`];
  };
  const findResponses = responsesFinder(document);

  function checkHeaders(response: ResponseObject, pointer: string, actual: ApiResponse): string[] {
    const documented = Object.entries(response.headers).flatMap(([name, part]) => {
      const value = headerOf(actual, name);
      const [header, at] = resolve<HeaderObject>(part, `${pointer}/headers/${escaped(name)}`);
      if (value === undefined) return header.required ? [`the header ${name} is missing`] : [];
      const read = header.schema.type === 'integer' && /^\d+$/.test(value) ? Number(value) : value;
      return problemsAt(`${at}/schema`, read).map((problem) => `header ${name} (${value}): ${problem}`);
    });
    const stray = !('Retry-After' in response.headers) && headerOf(actual, 'Retry-After') !== undefined;
    return stray ? [...documented, 'the header Retry-After is not documented for this response'] : documented;
  }

  function checkBody(
    { content, 'x-event-stream': events }: ResponseObject,
    pointer: string,
    actual: ApiResponse,
  ): string[] {
    if (actual.method === 'HEAD') return [];
    if (content === undefined) return actual.body === '' ? [] : ['a body where none is documented'];
    const given = headerOf(actual, 'Content-Type') ?? '';
    if (given.startsWith(eventsType) && (content[eventsType] ?? events) !== undefined) return [];
    if (!given.startsWith(mediaType) || content[mediaType] === undefined) {
      return [`the Content-Type is not ${Object.keys(content).join(' or ')}`];
    }
    let body: unknown;
    try {
      body = JSON.parse(actual.body);
    } catch {
      return ['the body is not JSON'];
    }
    const shape = problemsAt(`${pointer}/content/${escaped(mediaType)}/schema`, body);
    return [...shape.map((problem) => `body: ${problem}`), ...checkRequestId(body, actual)];
  }

  return (actual) => {
    const problems = check(actual);
    return problems.map((problem) => `${actual.method} ${actual.path} ${actual.status}: ${problem}`);
  };

  function check(actual: ApiResponse): string[] {
    const documented = findResponses(actual.method, actual.path);
    const isPreflight = actual.method === 'OPTIONS' && actual.status === 204;
    if (documented === undefined || isPreflight) {
      return headerOf(actual, 'X-Request-Id') === undefined ? ['the header X-Request-Id is missing'] : [];
    }
    const part = documented.responses[actual.status];
    if (part === undefined) return [`the status is not documented; the body is ${actual.body.slice(0, 500)}`];
    const [response, pointer] = resolve<ResponseObject>(part, `${documented.pointer}/${actual.status}`);
    return [...checkHeaders(response, pointer, actual), ...checkBody(response, pointer, actual)];
  }
}

/** The request id in an error body must equal the header. */
function checkRequestId(body: unknown, actual: ApiResponse): string[] {
  if (typeof body !== 'object' || body === null || !('request_id' in body)) return [];
  const inHeader = headerOf(actual, 'X-Request-Id');
  return body.request_id === inHeader
    ? []
    : [`request_id ${String(body.request_id)} differs from ${inHeader} in the header`];
}

function headerOf({ headers }: ApiResponse, name: string): string | undefined {
  const value = headers instanceof Headers ? headers.get(name) : headers[name.toLowerCase()];
  return value === null || value === undefined ? undefined : value.toString();
}

let checker: CheckResponse | undefined;

/** Checks a response of a service that has the default limits. */
export function checkResponse(actual: ApiResponse): string[] {
  checker ??= responseChecker(
    openApiDocument({ limits: defaultLimits, publicUrl: 'http://localhost', previewUrl: 'https://localhost' }),
  );
  return checker(actual);
}

/** The documented responses to a request and their JSON pointer in the document. */
interface Documented {
  readonly responses: Responses;
  readonly pointer: string;
}

/** Finds the documented responses to a request. Undefined for paths outside the version prefix. */
function responsesFinder(document: OpenApiDocument): (method: string, path: string) => Documented | undefined {
  const prefix = new URL(document.servers[0]?.url ?? '').pathname;
  const templates = Object.entries(document.paths).map(([template, item]) => ({
    matches: new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    item,
    pointer: `/paths/${escaped(template)}`,
  }));
  return (method, path) => {
    const pathname = path.replace(/[?#].*$/s, '').replace(/^https?:\/\/[^/]+/, '');
    if (pathname !== prefix && !pathname.startsWith(`${prefix}/`)) return undefined;
    const below = pathname.slice(prefix.length);
    const found = templates.find(({ matches }) => matches.test(below));
    const key = method.toLowerCase();
    const operation = found?.item[key];
    if (found === undefined || operation === undefined) {
      return { responses: document['x-unknown-path'].responses, pointer: '/x-unknown-path/responses' };
    }
    return { responses: operation.responses, pointer: `${found.pointer}/${key}/responses` };
  };
}

/** Escapes a name for a JSON pointer in a URI fragment. */
function escaped(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));
}
