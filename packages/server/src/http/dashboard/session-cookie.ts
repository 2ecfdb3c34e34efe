import { dashboardLimits } from '@mayfly/contract/dashboard';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OwnAddress } from './own-origin.ts';

const maxAgeSeconds = dashboardLimits.sessionMaxDays * 86_400;

/** With this prefix browsers accept the cookie only over TLS and only from this very host, so that no preview can set it. */
function cookieName({ isTls, publicUrl }: OwnAddress): string {
  return isTls || publicUrl().startsWith('https:') ? '__Host-mayfly_session' : 'mayfly_session';
}

/** The token of the session that a request names. Undefined without one, and with several: one of them was planted by another host. */
export function readSessionCookie({ headers }: FastifyRequest, address: OwnAddress): string | undefined {
  const prefix = `${cookieName(address)}=`;
  const found = (headers.cookie ?? '').split(';').flatMap((part) => {
    const cookie = part.trim();
    return cookie.startsWith(prefix) ? [cookie.slice(prefix.length)] : [];
  });
  return found.length === 1 ? found[0] : undefined;
}

export function setSessionCookie(reply: FastifyReply, address: OwnAddress, token: string): void {
  reply.header('set-cookie', cookie(address, token, maxAgeSeconds));
}

export function clearSessionCookie(reply: FastifyReply, address: OwnAddress): void {
  reply.header('set-cookie', cookie(address, '', 0));
}

function cookie(address: OwnAddress, value: string, seconds: number): string {
  const name = cookieName(address);
  const secure = name.startsWith('__Host-') ? '; Secure' : '';
  return `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}
