import { hash, randomBytes } from 'node:crypto';

/** A new token of 256 random bits, for a session or a link. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/** What is stored of a token or a recovery code, and looked up: its SHA-256 in lower-case hex. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}
