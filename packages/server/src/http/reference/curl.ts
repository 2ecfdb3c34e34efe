import type { OperationObject, ParameterObject } from '@mayfly/contract';

export interface Call {
  readonly serverUrl: string;
  readonly method: string;
  readonly path: string;
  readonly operation: OperationObject;
  readonly parameters: readonly ParameterObject[];
}

/** A call of the operation as one types it into a shell, with the examples of the document. */
export function curlOf({ serverUrl, method, path, operation, parameters }: Call): string {
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${urlOf(serverUrl, path, parameters)}`,
    '-H "Authorization: Bearer $MAYFLY_API_KEY"',
  ];
  const body = operation.requestBody?.content['application/json'].example;
  if (body !== undefined) lines.push(`-d ${quoted(JSON.stringify(body, null, 2)).replaceAll('\n', '\n  ')}`);
  return lines.join(' \\\n  ');
}

function urlOf(serverUrl: string, path: string, parameters: readonly ParameterObject[]): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (place, name) => {
    const parameter = parameters.find((one) => one.in === 'path' && one.name === name);
    return parameter?.example === undefined ? place : encodeURIComponent(String(parameter.example));
  });
  const query = parameters
    .filter((one) => one.in === 'query' && one.example !== undefined)
    .map((one) => `${one.name}=${encodeURIComponent(String(one.example))}`)
    .join('&');
  const url = `${serverUrl}${filled}${query === '' ? '' : `?${query}`}`;
  return /[?&;$'"\s]/.test(url) ? quoted(url) : url;
}

/** One word of a shell, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
