import type { Clock, Log } from '../ports/runtime.ts';
import type { SessionOwner, SignInStore } from '../ports/store/sign-in-store.ts';
import { hasExpired, isTouchDue } from './session-life.ts';

/** How often the sessions of open connections are looked up. */
export const recheckPeriodMs = 15_000;

/** A session as its requests present it. */
export interface HeldSession {
  readonly id: string;
  readonly accountId: string;
  /** Of its token. */
  readonly hash: string;
}

/** What looking up the sessions of open connections needs. */
export interface RecheckNeeds {
  readonly store: { readonly signIns: SignInStore };
  readonly connections: SessionConnections;
  readonly clock: Clock;
  readonly log: Log;
}

/** The requests, streams and WebSockets that sessions have open, so that they end with their session. */
export class SessionConnections {
  readonly #open = new Map<string, { readonly session: HeldSession; readonly cuts: Set<() => void> }>();

  /** Sessions with open connections. */
  get sessions(): readonly HeldSession[] {
    return [...this.#open.values()].map(({ session }) => session);
  }

  /** Remembers a connection until it is disposed of. `cut` ends it. */
  hold(session: HeldSession, cut: () => void): Disposable {
    const held = this.#open.get(session.id) ?? { session, cuts: new Set() };
    this.#open.set(session.id, held);
    held.cuts.add(cut);
    return {
      [Symbol.dispose]: () => {
        held.cuts.delete(cut);
        if (held.cuts.size === 0 && this.#open.get(session.id) === held) this.#open.delete(session.id);
      },
    };
  }

  /** Ends all connections of a session. */
  cut(sessionId: string): void {
    const held = this.#open.get(sessionId);
    this.#open.delete(sessionId);
    for (const cut of held?.cuts ?? []) cut();
  }

  /** Ends the connections of all sessions of an account, except the kept one. */
  cutAccount(accountId: string, keptId?: string): void {
    for (const { session } of this.#open.values()) {
      if (session.accountId === accountId && session.id !== keptId) this.cut(session.id);
    }
  }
}

/**
 * Cuts the connections of sessions that have ended, however they did: by expiry, by an operator, or with their account's suspension. A session with an
 * open connection is in use.
 */
export async function recheckConnections(core: RecheckNeeds): Promise<void> {
  const { connections, store, clock, log } = core;
  for (const { id, hash, accountId } of connections.sessions) {
    const nowMs = clock.nowMs();
    const owner = await store.signIns.findSession(hash);
    if (isUsable(owner, nowMs)) {
      if (isTouchDue(owner.session, nowMs)) await store.signIns.touchSession(id, nowMs);
      continue;
    }
    log.info({ session_id: id, account_id: accountId }, 'session_connections_cut');
    connections.cut(id);
  }
}

function isUsable(owner: SessionOwner | undefined, nowMs: number): owner is SessionOwner {
  return owner !== undefined && !owner.account.suspended && !hasExpired(owner.session, nowMs);
}
