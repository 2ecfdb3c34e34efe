import { randomBytes } from 'node:crypto';
import { clockAnswer } from '../answers/schemas.ts';
import { jsonSink } from '../answers/sinks.ts';
import type { Connection } from '../attach/connection.ts';
import { exchange } from './exchange.ts';

const toleranceNs = 100_000_000n;
const entropyBytes = 48;
const maxCorrections = 3;

/** Returns the host's time in unix milliseconds. */
export type WallClock = () => number;

/** Sends the current time and fresh entropy. Returns whether the guest's clock is within 100 ms of the host's afterwards. */
async function sendTime(
  connection: Connection,
  path: '/identity' | '/clock',
  extra: Readonly<Record<string, unknown>>,
  deadlineMs: number,
  now: WallClock,
): Promise<boolean> {
  const entropy = randomBytes(entropyBytes).toString('base64');
  const body = Buffer.from(JSON.stringify({ unix_ns: toNs(now()).toString(), entropy, ...extra }));
  const guestNs = await exchange(connection, { method: 'POST', path, body, deadlineMs }, () => jsonSink(clockAnswer));
  const offNs = guestNs - toNs(now());
  return offNs <= toleranceNs && offNs >= -toleranceNs;
}

/** Sets clock and entropy, up to three times, until the guest's clock is within 100 ms of the host's. */
export async function correctClock(connection: Connection, deadlineMs: number, now: WallClock): Promise<void> {
  for (let attempt = 0; attempt < maxCorrections; attempt += 1) {
    if (await sendTime(connection, '/clock', {}, deadlineMs, now)) return;
  }
}

/** Gives the machine its identity, then corrects its clock if the request took too long. */
export async function sendIdentity(
  connection: Connection,
  identity: { readonly hostname: string; readonly machineId: string; readonly expiresAtMs: number },
  deadlineMs: number,
  now: WallClock,
): Promise<void> {
  const names = {
    hostname: identity.hostname,
    machine_id: identity.machineId,
    expires_at_ms: identity.expiresAtMs,
  };
  if (!(await sendTime(connection, '/identity', names, deadlineMs, now))) {
    await correctClock(connection, deadlineMs, now);
  }
}

function toNs(unixMs: number): bigint {
  return BigInt(Math.round(unixMs)) * 1_000_000n;
}
