import { readFileSync } from 'node:fs';
import { chmod, copyFile } from 'node:fs/promises';
import { release } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { ConfinementSpec } from '../../src/confinement/spec.ts';
import { startConfined } from '../../src/confinement/start-confined.ts';
import { probeProgram } from '../network/go-tools.ts';
import { exitCodeOf } from './confined.ts';

/** What native/jail/probe tries besides what every Linux host has: by what it is, in words that complete "read …", "connect to …". */
export interface ProbeTargets {
  readonly read: Readonly<Record<string, string>>;
  readonly write: Readonly<Record<string, string>>;
  /** Unix sockets. A name that begins with @ is abstract. */
  readonly connect: Readonly<Record<string, string>>;
  /** Ids in the host's PID namespace. */
  readonly processes: Readonly<Record<string, number | undefined>>;
  /** A copy of the probe that is setuid. */
  readonly setuid?: string;
  /** What must succeed. */
  readonly allowed: { readonly folder: string; readonly socket: string };
}

/** One attempt of the probe and its outcome. */
export interface Attempt {
  readonly attempt: string;
  readonly refused: boolean;
  readonly detail: string;
  /** The service needs it. */
  readonly mustWork?: boolean;
}

/** More attempts than these must be refused, so that none is lost unnoticed. */
export const leastForbiddenAttempts = 150;

/** Copies the probe to a folder that the service's user may enter, and returns its path. */
export async function copyProbe(folder: string, name = 'probe', mode = 0o755): Promise<string> {
  const path = join(folder, name);
  await copyFile(probeProgram(), path);
  await chmod(path, mode);
  return path;
}

/** Runs the probe in place of the service, confined as the service is, and returns its attempts. */
export async function runProbe(
  jailPath: string,
  confinement: ConfinementSpec,
  probePath: string,
  targets: ProbeTargets,
): Promise<Attempt[]> {
  const programs = targets.setuid === undefined ? [probePath] : [probePath, targets.setuid];
  const binds = [...(confinement.binds ?? []), ...programs.map((path) => ({ path, mode: 'exec' }) as const)];
  const spec = { ...confinement, binds, program: probePath, argv: [JSON.stringify(targets)] };
  const child = startConfined(jailPath, spec, { stdout: 'pipe' });
  const attempts = child.stdout ? parseAttempts(await text(child.stdout)) : [];
  const code = await exitCodeOf(child);
  if (code !== 0) throw new Error(`the probe ended with ${code} after ${attempts.length} attempts`);
  return attempts;
}

export function parseAttempts(output: string): Attempt[] {
  return output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Attempt);
}

/** The attempts that must be refused: all but what the service needs and what this kernel or its settings allow to everybody. */
export function forbiddenAttempts(attempts: readonly Attempt[]): Attempt[] {
  const allowed = allowedHere();
  return attempts.filter(({ mustWork, attempt }) => !mustWork && !allowed.includes(attempt));
}

function allowedHere(): string[] {
  const [major = 0, minor = 0] = release().split('.').map(Number);
  const firstPort = Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'));
  return [
    ...(major > 6 || (major === 6 && minor >= 12) ? [] : ['connect to an abstract socket']),
    ...(firstPort > 79 ? [] : ['listen on a privileged port']),
    // The view of the file system then has this folder, with nothing in it but the way to the checkout.
    ...(import.meta.dirname.startsWith('/root/') ? ["read root's home"] : []),
  ];
}
