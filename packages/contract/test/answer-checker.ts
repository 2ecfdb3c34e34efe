import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import { defaultLimits } from '../src/limits.ts';
import { openApiDocument } from '../src/openapi/document.ts';
import type { HeaderObject, OpenApiDocument, ResponseObject } from '../src/openapi/types.ts';
import { escaped, responsesFinder } from './find-responses.ts';

/** An HTTP answer as a client got it, with what it had asked. */
export interface Answer {
  readonly method: string;
  /** With the version prefix; a query or an origin does no harm. */
  readonly path: string;
  readonly status: number;
  /** Names in lower case, unless they are those of fetch. */
  readonly headers: Headers | Readonly<Record<string, string | number | readonly string[] | undefined>>;
  /** The body as it came. */
  readonly body: string;
}

/** Names every way in which an answer is not as documented; none for a right one. */
export type CheckAnswer = (answer: Answer) => string[];

const documentId = 'openapi.json';
const mediaType = 'application/json';

/** Checks answers against a published document, with nothing but the document. */
export function answerChecker(document: OpenApiDocument): CheckAnswer {
  const ajv = new Ajv2020({ strict: false, allErrors: true, formats: fullFormats });
  ajv.addSchema({ ...document, $id: documentId });
  const compiled = new Map<string, ValidateFunction>();
  const problemsAt = (pointer: string, value: unknown): string[] => {
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `${documentId}#${pointer}` });
    compiled.set(pointer, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || 'it'} ${message ?? ''}`);
  };
  /** What a reference points to, and where that is. */
  const resolve = <Part extends object>(part: Part | { $ref: string }, pointer: string): [Part, string] => {
    if (!('$ref' in part)) return [part, pointer];
    const [, , kind = '', name = ''] = part.$ref.split('/');
    const kinds: Readonly<Record<string, Readonly<Record<string, unknown>>>> = { ...document.components };
    return [kinds[kind]?.[name] as Part, `/components/${kind}/${escaped(name)}`];
  };
  const findResponses = responsesFinder(document);

  function checkHeaders(response: ResponseObject, pointer: string, answer: Answer): string[] {
    const documented = Object.entries(response.headers).flatMap(([name, part]) => {
      const value = headerOf(answer, name);
      const [header, at] = resolve<HeaderObject>(part, `${pointer}/headers/${escaped(name)}`);
      if (value === undefined) return header.required ? [`the header ${name} is missing`] : [];
      const read = header.schema.type === 'integer' && /^\d+$/.test(value) ? Number(value) : value;
      return problemsAt(`${at}/schema`, read).map((problem) => `header ${name} (${value}): ${problem}`);
    });
    const stray = !('Retry-After' in response.headers) && headerOf(answer, 'Retry-After') !== undefined;
    return stray ? [...documented, 'the header Retry-After belongs on no such answer'] : documented;
  }

  function checkBody(pointer: string, answer: Answer): string[] {
    if (answer.method === 'HEAD') return [];
    if (!(headerOf(answer, 'Content-Type') ?? '').startsWith(mediaType))
      return [`the Content-Type is not ${mediaType}`];
    let body: unknown;
    try {
      body = JSON.parse(answer.body);
    } catch {
      return ['the body is not JSON'];
    }
    const shape = problemsAt(`${pointer}/content/${escaped(mediaType)}/schema`, body);
    return [...shape.map((problem) => `body: ${problem}`), ...checkRequestId(body, answer)];
  }

  return (answer) => {
    const problems = check(answer);
    return problems.map((problem) => `${answer.method} ${answer.path} ${answer.status}: ${problem}`);
  };

  function check(answer: Answer): string[] {
    const documented = findResponses(answer.method, answer.path);
    const isPreflight = answer.method === 'OPTIONS' && answer.status === 204;
    if (documented === undefined || isPreflight) {
      return headerOf(answer, 'X-Request-Id') === undefined ? ['the header X-Request-Id is missing'] : [];
    }
    const part = documented.responses[answer.status];
    if (part === undefined) return [`the status is not documented; the body is ${answer.body.slice(0, 500)}`];
    const [response, pointer] = resolve<ResponseObject>(part, `${documented.pointer}/${answer.status}`);
    return [...checkHeaders(response, pointer, answer), ...checkBody(pointer, answer)];
  }
}

/** An error names its request as the header does. */
function checkRequestId(body: unknown, answer: Answer): string[] {
  if (typeof body !== 'object' || body === null || !('request_id' in body)) return [];
  const inHeader = headerOf(answer, 'X-Request-Id');
  return body.request_id === inHeader ? [] : [`request_id ${String(body.request_id)} is not ${inHeader} of the header`];
}

function headerOf({ headers }: Answer, name: string): string | undefined {
  const value = headers instanceof Headers ? headers.get(name) : headers[name.toLowerCase()];
  return value === null || value === undefined ? undefined : value.toString();
}

let checker: CheckAnswer | undefined;

/** Checks an answer of a service with the limits of the specification. */
export function checkAnswer(answer: Answer): string[] {
  checker ??= answerChecker(
    openApiDocument({ limits: defaultLimits, publicUrl: 'http://localhost', previewUrl: 'https://localhost' }),
  );
  return checker(answer);
}
