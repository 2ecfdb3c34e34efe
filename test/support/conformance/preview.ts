import * as https from 'node:https';
import type { Incoming } from './exchange.ts';

const deadlineMs = 30_000;

/** Where a name of the preview domain is; names below localhost are this machine whatever the resolver thinks. */
const addressOf = (hostname: string): string => (/(^|\.)localhost$/.test(hostname) ? '127.0.0.1' : hostname);

/** Opens a preview URL, whoever signed its certificate. A connection that is refused or closed counts as status 599; no answer fails. */
export const visit = (address: string): Promise<Incoming> =>
  new Promise((resolve, reject) => {
    const url = new URL(address);
    const signal = AbortSignal.timeout(deadlineMs);
    const gone = (error: Error): void =>
      signal.aborted ? reject(error) : resolve({ status: 599, headers: {}, text: error.message });
    const request = https.get(
      {
        host: addressOf(url.hostname),
        servername: url.hostname,
        port: url.port || 443,
        path: `${url.pathname}${url.search}`,
        headers: { host: url.host },
        agent: false,
        rejectUnauthorized: false,
        signal,
      },
      (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.on('error', gone);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(pieces).toString('utf8'),
          }),
        );
      },
    );
    request.on('error', gone);
  });
