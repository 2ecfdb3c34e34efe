import { posix } from 'node:path';
import { usageFailure } from '../cli-io.ts';

/** Where something is copied from or to. */
export type Location =
  | { readonly where: 'here'; readonly path: string }
  | { readonly where: 'standard stream' }
  | { readonly where: 'sandbox'; readonly sandbox: string; readonly path: string };

/** `ID:path` is in a sandbox, `-` is a standard stream, everything else is on this machine, as is what has a slash before its first colon. */
export function parseLocation(text: string): Location {
  if (text === '') throw usageFailure('A path must not be empty.');
  if (text === '-') return { where: 'standard stream' };
  const [, sandbox, path] = /^([^/:]+):(.*)$/s.exec(text) ?? [];
  if (sandbox === undefined || path === undefined) return { where: 'here', path: text };
  return { where: 'sandbox', sandbox, path: path === '' ? '.' : path };
}

/** The name that a copy gets in an existing folder. Empty if its content is copied into that folder: for `.`, `..`, `/` and what ends with them. */
export function copiedName(path: string): string {
  return /(?:^|\/)\.{1,2}\/*$/.test(path) ? '' : posix.basename(path);
}
