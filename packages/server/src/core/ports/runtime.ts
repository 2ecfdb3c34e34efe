/** The service's time. Everything that depends on the time asks here. */
export interface Clock {
  /** Unix milliseconds, an integer. */
  nowMs(): number;
}

/** The clock of this host. */
export const systemClock: Clock = { nowMs: () => Date.now() };

/** What an id identifies; the part of the id before the underscore. */
type IdKind = 'term' | 'sbx' | 'snap' | 'pool' | 'roll' | 'exec' | 'acct' | 'key' | 'ses' | 'crd' | 'aud';

/** Generates unique ids. */
export interface Ids {
  next(kind: IdKind): string;
}

/** What is free on the host and what the service takes of it, in bytes. */
export interface HostStats {
  readonly memoryAvailableBytes: number;
  /** Resident memory of the service's own process. */
  readonly serviceBytes: number;
  /** How much more memory all machines together may take; infinite without a limit. */
  readonly machinesMemoryLeftBytes: number;
  /** On the file system that holds the machines' disks. */
  readonly diskFreeBytes: number;
}

/** Measures the host synchronously. */
export interface HostProbe {
  stats(): HostStats;
}

/** Disk space of the data folder that is held back for the database until nothing else is left. */
export interface DiskBallast {
  readonly sizeBytes: number;
  readonly isHeld: boolean;
  /** Gives the space back to the file system, so that the database can write. */
  release(): Promise<void>;
  /** Holds the space again. */
  hold(): Promise<void>;
}

/** Writes one event with its ids as fields, as a pino logger does. No secrets. */
export interface Log {
  debug(fields: object, event: string): void;
  info(fields: object, event: string): void;
  warn(fields: object, event: string): void;
  error(fields: object, event: string): void;
}
