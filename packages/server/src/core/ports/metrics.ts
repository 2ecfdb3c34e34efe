import type { SandboxStatus, SizeName, SnapshotStatus } from '@mayfly/contract';
import type { DashboardErrorType } from '@mayfly/contract/dashboard';

/** How a create that was admitted ended. */
export type CreateResult = 'ready' | 'failed' | 'cancelled';

/** How a request through a preview ended: answered by the sandbox, upgraded to a WebSocket, or answered by the gateway itself. */
export const previewOutcomes = [
  'served',
  'upgraded',
  'unknown',
  'nothing_listening',
  'unreachable',
  'busy',
  'bad_request',
  'misdirected',
  'not_supported',
  'rate_limited',
] as const;
type PreviewOutcome = (typeof previewOutcomes)[number];

/** Why the gateway itself answers a visitor of a preview. */
export type PreviewRefusal = Exclude<PreviewOutcome, 'served' | 'upgraded'>;

/** The ports that strangers can reach: one for the API, one for previews. */
export const listeningPorts = ['api', 'previews'] as const;
export type ListeningPort = (typeof listeningPorts)[number];

/** Why a create is refused at machine capacity: MAYFLY_MAX_MACHINES, what is short, or a host process that is away. */
export const capacityReasons = ['ceiling', 'memory', 'disk', 'host'] as const;

/** Counts what the service does. No call waits or fails; each is cheap enough to be made on every request. */
export interface Metrics {
  createEnded(create: {
    readonly size: SizeName;
    /** The machine came from the pool. */
    readonly pooled: boolean;
    readonly outcome: CreateResult;
    readonly durationMs: number;
  }): void;
  /** `durationMs` is the command's own time; `totalMs` also covers writing its record and its result. */
  commandEnded(status: 'completed' | 'timeout', durationMs: number, totalMs: number): void;
  /** A command could not be started or was lost. */
  commandFailed(): void;
  poolClaimed(size: SizeName, outcome: 'hit' | 'miss'): void;
  restoreEnded(restore: {
    readonly size: SizeName;
    readonly purpose: 'create' | 'pool';
    readonly outcome: 'ok' | 'failed';
    readonly durationMs: number;
  }): void;
  /** A machine died on its own, while it served a sandbox or waited in the pool. */
  machineDied(size: SizeName, role: 'sandbox' | 'pool'): void;
  teardownFailed(): void;
  teardownRetried(): void;
  capacityRefused(reason: (typeof capacityReasons)[number]): void;
  /** A snapshot that was admitted is `ready`, or could not be taken. */
  snapshotEnded(snapshot: {
    readonly size: SizeName;
    readonly outcome: 'ready' | 'failed';
    readonly durationMs: number;
  }): void;
  /** A machine was saved, for a snapshot or a fork, and stood still for this time. */
  machineSaved(size: SizeName, pausedMs: number): void;
  snapshotDeleted(): void;
  /** A sandbox was ended because the host ran out of something. */
  sandboxEvicted(shortage: 'memory' | 'disk'): void;
  /** A finished run, or the storage of a snapshot, was written to the ledger. */
  charged(microUsd: number): void;
  /** Credit was added; negative when it was withdrawn. */
  credited(microUsd: number): void;
  /** `operation` names the store method, e.g. `sandboxes.find`. */
  storeFailed(operation: string): void;
  /** At start: what became of the sandboxes and machines of the previous run. */
  tookOver(outcome: 'adopted' | 'ended' | 'orphaned', count: number): void;
  /** A command that the previous run started, or that ended during a database outage, was completed with its result or lost. */
  commandRecovered(outcome: 'recovered' | 'lost'): void;
  rateLimited(window: 'source' | 'public' | 'requests' | 'creations' | 'uploads' | 'sessions' | 'attempts'): void;
  errorAnswered(type: DashboardErrorType): void;
  /** A connection was cut because its client did not read its responses. */
  slowReaderCut(): void;
  previewAnswered(outcome: PreviewOutcome): void;
  /** A source address opened too many connections. */
  connectionRefused(port: ListeningPort): void;
  /** `route` is the pattern of the path, never the path itself. */
  requestAnswered(method: string, route: string, status: number): void;
}

/** The number of sandboxes with a status and size. */
export interface SandboxCount {
  readonly status: SandboxStatus;
  readonly size: SizeName;
  readonly count: number;
}

/** The number of snapshots with a status, and what they take on disk. */
export interface SnapshotCount {
  readonly status: SnapshotStatus;
  readonly count: number;
  readonly bytes: number;
}

/** Values that are read at each scrape instead of being counted. */
export interface Readings {
  sandboxes(): Promise<readonly SandboxCount[]>;
  snapshots(): Promise<readonly SnapshotCount[]>;
  poolReady(size: SizeName): number;
  poolTarget(size: SizeName): number;
  restoresInFlight(): number;
  restoresWaiting(): number;
  teardownsWaiting(): number;
  previewsOpen(): number;
  /** Bytes of large results in memory. */
  resultBytesHeld(): number;
  bodyBytesHeld(): number;
  /** Requests with large bodies, those that wait for room included. */
  uploadsOpen(): number;
  /** Requests that wait for memory for a large result. */
  resultsWaiting(): number;
  /** Commands that wait because their account runs too many at once. */
  commandsWaiting(): number;
}

/** Counts nothing. */
export const noMetrics: Metrics = {
  createEnded() {},
  commandEnded() {},
  commandFailed() {},
  poolClaimed() {},
  restoreEnded() {},
  machineDied() {},
  teardownFailed() {},
  teardownRetried() {},
  capacityRefused() {},
  snapshotEnded() {},
  machineSaved() {},
  snapshotDeleted() {},
  sandboxEvicted() {},
  charged() {},
  credited() {},
  storeFailed() {},
  tookOver() {},
  commandRecovered() {},
  rateLimited() {},
  errorAnswered() {},
  slowReaderCut() {},
  previewAnswered() {},
  connectionRefused() {},
  requestAnswered() {},
};
