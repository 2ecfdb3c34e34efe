import type { OperationObject, ParameterObject } from './types.ts';

/** A call of an operation, with the examples of the document. */
export interface ExampleCall {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly ParameterObject[];
  readonly requestBody: OperationObject['requestBody'] | undefined;
}

/** The shell command that calls an operation. */
export function curlOf({ method, path, parameters, requestBody }: ExampleCall, serverUrl: string): string {
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${urlOf(serverUrl, path, parameters)}`,
    '-H "Authorization: Bearer $MAYFLY_API_KEY"',
  ];
  const body = requestBody?.content['application/json'].example;
  if (body !== undefined) lines.push(`-d ${shellQuote(JSON.stringify(body, null, 2)).replaceAll('\n', '\n  ')}`);
  return lines.join(' \\\n  ');
}

function urlOf(serverUrl: string, path: string, parameters: readonly ParameterObject[]): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (placeholder, name) => {
    const parameter = parameters.find((one) => one.in === 'path' && one.name === name);
    return parameter?.example === undefined ? placeholder : encodeURIComponent(String(parameter.example));
  });
  const query = parameters
    .filter((one) => one.in === 'query' && one.example !== undefined)
    .map((one) => `${one.name}=${encodeURIComponent(String(one.example))}`)
    .join('&');
  const url = `${serverUrl}${filled}${query === '' ? '' : `?${query}`}`;
  return /[?&;$'"\s]/.test(url) ? shellQuote(url) : url;
}

/** Quotes a text as one shell word. */
function shellQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
