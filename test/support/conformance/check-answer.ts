import type { IncomingHttpHeaders } from 'node:http';
import { commonErrors, documentedAnswers, documentedErrors, operationOf } from './documented-answers.ts';
import { errorBody } from './documented-shapes.ts';

/** An answer as it is checked. */
export interface CheckedAnswer {
  readonly method: string;
  /** Below the version prefix. */
  readonly path: string;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

const wholeNumber = /^\d+$/;

/** Everything in which an answer differs from what the specification promises of every answer, and of this operation's. */
export const findProblems = (answer: CheckedAnswer): string[] => [
  ...headerProblems(answer),
  ...(answer.method === 'HEAD' || answer.status === 204 ? [] : bodyProblems(answer)),
];

/** "Every response carries X-Request-Id"; "rate-limit headers are on every response"; "Retry-After appears only on a 429". */
function* headerProblems({ status, headers }: CheckedAnswer): Generator<string> {
  if (!headers['x-request-id']) yield 'no X-Request-Id';
  for (const name of ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset']) {
    const value = String(headers[name]);
    if (!wholeNumber.test(value)) yield `${name} is ${value}`;
  }
  if (Number(headers['ratelimit-remaining']) > Number(headers['ratelimit-limit']))
    yield 'more remaining than the limit';
  if (Number(headers['ratelimit-reset']) > 60) yield 'the window resets in more than a minute';
  const retryAfter = headers['retry-after'];
  if (status !== 429 && retryAfter !== undefined) yield `Retry-After on a ${status}`;
  if (status === 429 && !wholeNumber.test(String(retryAfter))) yield `Retry-After is ${retryAfter} on a 429`;
}

/** "All bodies are JSON"; "every error response has the Error body shape". */
function* bodyProblems({ method, path, status, headers, text }: CheckedAnswer): Generator<string> {
  if (!/^application\/json\b/.test(headers['content-type'] ?? '')) yield `Content-Type is ${headers['content-type']}`;
  const body = parse(text);
  const documented = documentedAnswers(operationOf(method, path));
  const shape = status >= 400 ? errorBody : documented.shapes[status];
  if (shape === undefined) {
    yield `status ${status} is not documented for it`;
    return;
  }
  const wrong = shape(body);
  if (wrong) yield wrong;
  if (status < 400 || wrong) return;
  const { error, request_id } = body as { error: { type: string; message: string }; request_id: string };
  if (request_id !== headers['x-request-id']) yield `request_id ${request_id} is not the X-Request-Id`;
  if (!documentedErrors[error.type]?.includes(status)) yield `${error.type} does not come with ${status}`;
  if (![...commonErrors, ...documented.errors].includes(error.type)) yield `${error.type} is not documented for it`;
  if (error.message === '') yield 'the message is empty';
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};
