/** What one machine may take of the network, so that it cannot starve the rest. */
export interface Ceilings {
  /** Each way, in bits per second. */
  readonly bandwidthBitsPerSecond: number;
  /** Connections at a time. */
  readonly connections: number;
  /** New connections per second; the same number may come at once. */
  readonly newConnectionsPerSecond: number;
  /** Each way. */
  readonly packetsPerSecond: number;
}

/** What a machine gets when nothing else is said. */
export const defaultCeilings: Ceilings = {
  bandwidthBitsPerSecond: 200_000_000,
  connections: 4096,
  newConnectionsPerSecond: 512,
  packetsPerSecond: 50_000,
};
