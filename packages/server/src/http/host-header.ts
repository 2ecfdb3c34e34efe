import { ApiError } from '../core/errors/api-error.ts';
import type { HttpApp } from './http-app.ts';

/** Refuses what HTTP/1.1 says to refuse, a request without a Host header, with an error of the interface. */
export function addHostCheck(app: HttpApp): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const missing = request.headers.host === undefined && request.raw.httpVersion === '1.1';
    done(missing ? new ApiError('request_error', 'the Host header is missing') : undefined);
  });
}
