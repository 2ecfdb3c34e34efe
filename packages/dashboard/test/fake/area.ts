import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { DashboardErrorType, Session } from '@mayfly/contract/dashboard';
import type { keys } from '../sample-data.ts';

/** What the fake answers; the page is looked at with one after the other. */
export interface FakeState {
  session: Session | undefined;
  keys: typeof keys;
  keyLimit: number;
  hasSandboxes: boolean;
  /** So many sandboxes instead of the samples. */
  sandboxCount: number | undefined;
  hasSnapshots: boolean;
  /** Error types by operation, such as `POST /session`. */
  /** An ordinary account, for the pictures of the documentation: no failures, no gaps, no hostile names. */
  isExample: boolean;
  readonly failures: Map<string, readonly [status: number, type: DashboardErrorType, message: string]>;
  isDown: boolean;
}

export interface Answer {
  readonly status?: number;
  readonly body: unknown;
}

export interface FakeRequest {
  /** Method and path below /app/api, such as `GET /sandboxes`. */
  readonly operation: string;
  readonly parameters: URLSearchParams;
  /** As it was sent. */
  readonly body: string;
}

/** The part of the fake that answers for one part of the page. */
export interface FakeArea {
  /** Returns undefined where it has no answer. */
  readonly answer?: (request: FakeRequest, state: FakeState) => Answer | undefined;
  /** For streams and files: answers itself and returns true, or returns false. */
  readonly respond?: (request: FakeRequest, response: ServerResponse, state: FakeState) => boolean;
  /** For WebSockets: takes the connection over and returns true, or returns false. */
  readonly upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer, state: FakeState) => boolean;
}

export function refusal(status: number, type: DashboardErrorType, message: string): Answer {
  return { status, body: { error: { type, message }, request_id: 'req_5f0c9a4be1d27386c4a90b12' } };
}
