import type { IncomingMessage } from 'node:http';
import { headersForVisitor } from '../headers/for-visitor.ts';
import { breakOff, sendHead, type VisitorResponse } from '../messages.ts';
import type { Prepared } from './upstream.ts';

/** Passes an answer on at the visitor's speed; one that breaks off on its way breaks off for the visitor, too. */
export function relay(answer: IncomingMessage, response: VisitorResponse, { visit, origin }: Prepared): void {
  const { publicHost, target } = visit;
  const headers = headersForVisitor({ rawHeaders: answer.rawHeaders, publicHost, port: target.port, origin });
  answer.once('close', () => {
    if (!answer.complete) breakOff(response);
  });
  answer.once('error', () => breakOff(response));
  response.once('close', () => answer.destroy());
  try {
    sendHead(response, answer.statusCode ?? 502, headers);
  } catch (error) {
    answer.destroy();
    throw error;
  }
  answer.pipe(response as NodeJS.WritableStream);
}
