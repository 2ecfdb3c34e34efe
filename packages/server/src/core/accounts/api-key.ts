import { hash, randomBytes } from 'node:crypto';

/** A fresh API key: `mf_` and 43 characters of base64url (256 random bits). */
export function newApiKey(): string {
  return `mf_${randomBytes(32).toString('base64url')}`;
}

/** What is kept of a key, and looked up: its SHA-256 in lower-case hex. */
export function hashApiKey(key: string): string {
  return hash('sha256', key, 'hex');
}

/** The part of a key that may be shown to recognise it by. */
export function prefixOfApiKey(key: string): string {
  return key.slice(0, Math.min(7, Math.floor(key.length / 4)));
}
