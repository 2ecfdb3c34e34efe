import type { Operations } from '../operations/all-operations.ts';
import { streamChanges } from './changes.ts';
import { createApiKey, listApiKeys, revokeApiKey } from './keys.ts';
import {
  deleteOtherSessions,
  deleteSession,
  getSession,
  listSessions,
  setPassword,
  signIn,
  signInWithLink,
  signOut,
} from './sessions.ts';
import { listTerminals } from './terminals.ts';
import { confirmTwoFactor, disableTwoFactor, startTwoFactor } from './two-factor.ts';
import { getLimits, listUsageDays } from './usage.ts';

/** The operations that only the dashboard has. */
export const dashboardOperations = {
  getSession,
  signIn,
  signInWithLink,
  signOut,
  listSessions,
  deleteSession,
  deleteOtherSessions,
  setPassword,
  startTwoFactor,
  confirmTwoFactor,
  disableTwoFactor,
  listApiKeys,
  createApiKey,
  revokeApiKey,
  streamChanges,
  listTerminals,
  listUsageDays,
  getLimits,
} as const;

export type DashboardOperations = typeof dashboardOperations;

/** The operations of /v1 that are not below /app/api too. A session's cookie also opens WebSockets and EventSources, so it needs no tickets. */
export const unmountedOperations = ['createTicket'] as const satisfies readonly (keyof Operations)[];
