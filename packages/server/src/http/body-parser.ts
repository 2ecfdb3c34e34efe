import { ApiError } from '../core/errors/api-error.ts';
import type { HttpApp } from './http-app.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads every body as JSON, whatever its Content-Type says. Nothing but white space is no body. */
export function addBodyParser(app: HttpApp): void {
  app.removeAllContentTypeParsers();
  app.addHook('onRequest', async (request) => {
    // The framework refuses a Content-Type that it cannot read; here it means nothing.
    delete request.raw.headers['content-type'];
  });
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (_request: unknown, bytes: Buffer) => parseJson(bytes));
}

function parseJson(bytes: Buffer): unknown {
  try {
    const text = utf8.decode(bytes);
    return text.trim() === '' ? undefined : JSON.parse(text);
  } catch (cause) {
    throw new ApiError('request_error', 'the body is not valid JSON', { cause });
  }
}
