import { machineDeadlines } from '../core/ports/machine-deadlines.ts';
import { maxCallsInFlight, maxSavesInFlight } from '../machines/protocol/messages.ts';

/** What a service may take of the host process. A service that exceeds a limit waits or is disconnected; the host process never grows with it. */
export interface HostLimits {
  /** How many machines may exist at once: a service that was taken over must not use up what all data folders of this host share. */
  readonly maxMachines: number;
  /** What launches leave of the data folder's file system: another data folder may be on it too. */
  readonly diskReserveBytes: number;
  /** Further calls are not read until one ends, whatever connection it came from. */
  readonly callsInFlight: number;
  /** Saves at once. Further ones wait, and are refused once as many wait as `waitingSaves` says. */
  readonly savesInFlight: number;
  readonly waitingSaves: number;
  readonly callsPerSecond: number;
  /** Launches, destructions and the like, which cost the whole host something. */
  readonly changesPerSecond: number;
  readonly handshakesPerSecond: number;
  /** Connections at once, with those that have not introduced themselves yet. Only one of them is served. */
  readonly connections: number;
  /** How long a new connection may take to send its first line. */
  readonly handshakeMs: number;
  /** Bytes that may wait for a service that does not read before it is disconnected. */
  readonly unreadBytes: number;
  /** How long a service may read nothing before it is disconnected. */
  readonly stallMs: number;
  /** How long a launch may take. */
  readonly launchMs: number;
  /** How long a save may take. */
  readonly saveMs: number;
  /** How long any other call may take, and each attempt of a cleanup. */
  readonly callMs: number;
  /** How often a cleanup that failed is tried again. */
  readonly cleanupPeriodMs: number;
}

export const defaultHostLimits: HostLimits = {
  maxMachines: 1_000,
  diskReserveBytes: 0,
  callsInFlight: maxCallsInFlight,
  savesInFlight: maxSavesInFlight,
  waitingSaves: 16,
  callsPerSecond: 1_000,
  changesPerSecond: 100,
  handshakesPerSecond: 20,
  connections: 4,
  handshakeMs: 5_000,
  unreadBytes: 1024 * 1024,
  stallMs: 30_000,
  ...machineDeadlines.host,
  cleanupPeriodMs: 5_000,
};
