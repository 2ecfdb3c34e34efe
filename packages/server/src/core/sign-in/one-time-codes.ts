import { randomInt } from 'node:crypto';
import { dashboardLimits } from '@mayfly/contract/dashboard';
import { Secret, TOTP } from 'otpauth';
import { hashToken } from './tokens.ts';

const periodMs = 30_000;
const secretBytes = 20;
/** A code counts for one period before and after its own, because clocks differ. */
const tolerance = 1;
/** Without letters and digits that look alike. */
const recoveryAlphabet = 'abcdefghjkmnpqrstuvwxyz23456789';
const recoveryGroups = 4;
const recoveryGroupLength = 4;

/** A new secret for an authenticator app, in base32. */
export function newTotpSecret(): string {
  return new Secret({ size: secretBytes }).base32;
}

/** What an authenticator app reads from a QR code. */
export function totpUri(secret: string, email: string): string {
  return totpOf(secret, email).toString();
}

/** The period that a code belongs to; undefined if it is none of the current ones. */
export function periodOfCode(secret: string, code: string, nowMs: number): number | undefined {
  const delta = totpOf(secret).validate({ token: code, timestamp: nowMs, window: tolerance });
  return delta === null ? undefined : Math.floor(nowMs / periodMs) + delta;
}

function totpOf(secret: string, label = ''): TOTP {
  return new TOTP({ issuer: 'Mayfly', label, secret, period: periodMs / 1_000, digits: 6, algorithm: 'SHA1' });
}

/** New recovery codes, to be shown once: about 79 random bits each, so that a plain hash of them cannot be reversed. */
export function newRecoveryCodes(): readonly string[] {
  return Array.from({ length: dashboardLimits.recoveryCodes }, () =>
    Array.from({ length: recoveryGroups }, newGroup).join('-'),
  );
}

function newGroup(): string {
  const letters = Array.from(
    { length: recoveryGroupLength },
    () => recoveryAlphabet[randomInt(recoveryAlphabet.length)],
  );
  return letters.join('');
}

/** What is stored of a recovery code, however it was typed. */
export function hashRecoveryCode(code: string): string {
  return hashToken(plainCode(code));
}

/** Six digits are a code of an app; everything else may be a recovery code. */
export function isTotpCode(code: string): boolean {
  return /^\d{6}$/.test(plainCode(code));
}

/** A code without what people add to read or type it. */
export function plainCode(code: string): string {
  return code.replaceAll(/[\s-]/g, '').toLowerCase();
}
