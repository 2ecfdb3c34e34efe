import { isSignedOut, RequestFailure } from '../api/failure.ts';

/** How a terminal goes on after its connection was closed. */
export type Next =
  /** The shell has exited; with which code is unknown if nobody was connected. */
  | { readonly kind: 'ended'; readonly exitCode: number | undefined }
  /** It cannot be reached any more, or was not opened. */
  | { readonly kind: 'gone'; readonly reason: string }
  /** It may go on: try again. */
  | { readonly kind: 'retry' }
  /** The service did not accept the connection. Browsers do not say why, so the list of terminals is asked for. */
  | { readonly kind: 'ask' };

export interface Closed {
  readonly code: number;
  /** From the service, or empty. */
  readonly reason: string;
  /** Of the shell, if the service told it. */
  readonly exitCode: number | undefined;
  /** Whether the terminal had been shown on this connection. */
  readonly wasReady: boolean;
}

const goingAway = 1001;

export function afterClose({ code, reason, exitCode, wasReady }: Closed): Next {
  if (exitCode !== undefined) return { kind: 'ended', exitCode };
  if (code === goingAway && reason !== '') return { kind: 'gone', reason: sentence(reason) };
  return { kind: wasReady ? 'retry' : 'ask' };
}

export interface Question {
  /** The terminal that was to be joined, undefined for a new one. */
  readonly session: string | undefined;
  /** How often it was tried since it was last shown. */
  readonly failures: number;
}

/** The terminals of the sandbox, or why they were not told. */
export type Told = { readonly ids: readonly string[]; readonly limit: number } | { readonly error: unknown };

const refusalsOfNew = 2;
const refusalsOfRunning = 6;

export function afterAnswer(told: Told, { session, failures }: Question): Next {
  if ('error' in told) return afterError(told.error);
  const { ids, limit } = told;
  if (session !== undefined && !ids.includes(session)) return { kind: 'ended', exitCode: undefined };
  if (session === undefined && ids.length >= limit) {
    return {
      kind: 'gone',
      reason: `The sandbox has ${ids.length} terminals, as many as it may. End one, then try again.`,
    };
  }
  if (failures < (session === undefined ? refusalsOfNew : refusalsOfRunning)) return { kind: 'retry' };
  const reason =
    'The service did not open the terminal. Check the balance of the account and whether many terminals or streams are open, then try again.';
  return { kind: 'gone', reason };
}

function afterError(error: unknown): Next {
  if (!(error instanceof RequestFailure) || error.isConnection) return { kind: 'retry' };
  if (isSignedOut(error)) return { kind: 'gone', reason: error.message };
  if (error.status === 429 || (error.status ?? 0) >= 500) return { kind: 'retry' };
  return { kind: 'gone', reason: error.message };
}

function sentence(reason: string): string {
  return `${reason.slice(0, 1).toUpperCase()}${reason.slice(1)}.`;
}

const firstDelayMs = 500;
const longestDelayMs = 15_000;

/** How long to wait before the attempt after `failures` failed ones. */
export function reconnectDelayMs(failures: number): number {
  return Math.min(longestDelayMs, firstDelayMs * 2 ** failures);
}
