import type { Command } from 'commander';
import { type CliIo, usageFailure } from '../cli-io.ts';
import { showJson } from '../output.ts';
import { readText } from './read-input.ts';
import { addServiceCommand } from './service-command.ts';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** `mayfly api` */
export function addApi(program: Command, io: CliIo): void {
  addServiceCommand<[string, string], { readonly data?: string }, unknown>(program, io, {
    name: 'api',
    arguments: [
      ['<method>', `one of ${methods.join(', ')}`],
      ['<path>', 'a path of the API, with or without /v1'],
    ],
    summary: 'make any request of the API and print its JSON',
    details: 'The JSON of an error is printed too, with the exit code 3. The service has its reference at /docs.',
    examples: [
      'mayfly api GET /account',
      `mayfly api POST /sandboxes --data '{"size":"small"}'`,
      'mayfly api GET "/sandboxes?limit=5"',
    ],
    options: (command) => command.option('--data <json>', 'the body: JSON, @FILE, or - for standard input'),
    act: async ({ mayfly, signal }, { data }, methodText, path) => {
      const method = methods.find((name) => name === methodText.toUpperCase());
      if (method === undefined) throw usageFailure(`The method must be one of ${methods.join(', ')}.`);
      const body = data === undefined ? undefined : jsonOf(await readText(io, '--data', data));
      return await mayfly.request(method, pathOf(path), { signal, ...(body !== undefined && { body }) });
    },
    // Some requests have no answer.
    json: (body) => body ?? null,
    show: (body) => (body === undefined ? '' : showJson(body)),
  });
}

/** The path below the version prefix. */
function pathOf(text: string): string {
  if (URL.canParse(text)) throw usageFailure('Give only the path of the API. The service is named by --url.');
  return `/${text.replace(/^\/+/, '').replace(/^v1\//, '')}`;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw usageFailure(`--data is not JSON: ${reason}.`);
  }
}
