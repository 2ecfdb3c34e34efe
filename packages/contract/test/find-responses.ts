import type { OpenApiDocument, Responses } from '../src/openapi/types.ts';

/** The documented answers to a request, and where they stand in the document. */
export interface Documented {
  readonly responses: Responses;
  readonly pointer: string;
}

/** Finds the documented answers to requests below the version prefix; undefined for any other. */
export function responsesFinder(document: OpenApiDocument): (method: string, path: string) => Documented | undefined {
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

/** A name as a part of a JSON pointer in a URI. */
export function escaped(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));
}
