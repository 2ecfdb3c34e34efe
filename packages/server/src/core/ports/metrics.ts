import type { ErrorType, SandboxStatus, SizeName } from '@mayfly/contract';
import type { PreviewFailureKind } from '../previews/failure.ts';

/** Why the gateway itself answers a visitor of a preview. */
export type PreviewRefusal = PreviewFailureKind | 'bad_request' | 'misdirected' | 'not_supported';

/** How a create that was admitted ended. */
export type CreateResult = 'ready' | 'failed' | 'called_off';

/** What is counted while the service works. No call waits or fails; each is cheap enough for every request. */
export interface Metrics {
  createEnded(create: {
    readonly size: SizeName;
    /** A machine was waiting for it. */
    readonly pooled: boolean;
    readonly outcome: CreateResult;
    readonly durationMs: number;
  }): void;
  /** `durationMs` is the command's own time; `totalMs` is from before its record to its result on disk. */
  commandEnded(status: 'completed' | 'timeout', durationMs: number, totalMs: number): void;
  /** It could not be started or was lost. */
  commandFailed(): void;
  poolClaimed(size: SizeName, outcome: 'hit' | 'miss'): void;
  restoreEnded(restore: {
    readonly size: SizeName;
    readonly purpose: 'create' | 'pool';
    readonly outcome: 'ok' | 'failed';
    readonly durationMs: number;
  }): void;
  /** A machine died by itself: somebody's, or one that was waiting in the pool. */
  machineDied(size: SizeName, role: 'sandbox' | 'pool'): void;
  teardownFailed(): void;
  teardownRetried(): void;
  capacityRefused(reason: 'ceiling' | 'memory' | 'disk'): void;
  /** A finished run was written to the ledger. */
  charged(microUsd: number): void;
  /** Negative when credit was taken back. */
  credited(microUsd: number): void;
  storeFailed(operation: string): void;
  /** At start: what became of sandboxes and machines that an earlier run left. */
  tookOver(outcome: 'adopted' | 'settled' | 'unowned', count: number): void;
  /** A command that an earlier run began, or that ended while the database was away, ended with its result or without. */
  commandRecovered(outcome: 'recovered' | 'lost'): void;
  rateLimited(window: 'source' | 'requests' | 'creations'): void;
  errorAnswered(type: ErrorType): void;
  /** A request through a preview got the sandbox's answer or became a socket, or the gateway answered for this reason. */
  previewAnswered(outcome: 'served' | 'upgraded' | PreviewRefusal): void;
  /** `route` is the pattern of the path, never the path. */
  requestAnswered(method: string, route: string, status: number): void;
}

/** How many sandboxes have a status and a size. */
export interface SandboxCount {
  readonly status: SandboxStatus;
  readonly size: SizeName;
  readonly count: number;
}

/** What is looked at, not counted, when somebody asks for the metrics. */
export interface Readings {
  sandboxes(): Promise<readonly SandboxCount[]>;
  poolReady(size: SizeName): number;
  poolTarget(size: SizeName): number;
  restoresInFlight(): number;
  restoresWaiting(): number;
  teardownsWaiting(): number;
  previewsOpen(): number;
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
  charged() {},
  credited() {},
  storeFailed() {},
  tookOver() {},
  commandRecovered() {},
  rateLimited() {},
  errorAnswered() {},
  previewAnswered() {},
  requestAnswered() {},
};
