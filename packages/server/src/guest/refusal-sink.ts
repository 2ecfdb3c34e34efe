import { GuestRefusal } from '../core/ports/guest-agent.ts';
import { refusalAnswer } from './answers.ts';
import { jsonSink } from './json-sink.ts';
import { guestLimits } from './limits.ts';
import type { Sink } from './sink.ts';

/** Reads the body of a status of 400 and over, and throws the GuestRefusal it holds. */
export function refusalSink(): Sink<never> {
  const body = jsonSink(refusalAnswer, guestLimits.errorBytes);
  return {
    push: (chunk) => body.push(chunk),
    finish() {
      const { code, message } = body.finish();
      throw new GuestRefusal(code, message.replaceAll(/\p{Cc}/gu, ' '));
    },
  };
}
