import type { ExecutionStatus } from '@mayfly/contract';

/** An execution as it is stored. Output is raw bytes. */
export interface ExecutionRecord {
  readonly id: string;
  readonly accountId: string;
  readonly sandboxId: string;
  readonly status: ExecutionStatus;
  readonly exitCode: number | null;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly truncated: boolean;
  /** The output was dropped to keep the account within its quota. */
  readonly outputDropped: boolean;
  /** The sandbox's kernel killed one of its processes because memory ran out. */
  readonly oomKilled: boolean;
  readonly durationMs: number | null;
  readonly startedAtMs: number;
  readonly finishedAtMs: number | null;
  /** Its output is read while it runs, and it may run for as long as its sandbox. */
  readonly isLive: boolean;
  /** What it wrote to both streams, captured or not; null until it has a result. */
  readonly writtenBytes: number | null;
}

export type NewExecution = Pick<ExecutionRecord, 'id' | 'accountId' | 'sandboxId' | 'startedAtMs' | 'isLive'>;

export type ExecutionEnd = Pick<
  ExecutionRecord,
  | 'status'
  | 'exitCode'
  | 'stdout'
  | 'stderr'
  | 'truncated'
  | 'oomKilled'
  | 'durationMs'
  | 'finishedAtMs'
  | 'writtenBytes'
>;

/** The output that is stored for an account. */
export interface StoredOutput {
  readonly accountId: string;
  readonly totalBytes: number;
  /** The quota that an operator set for this account; null if the service's applies. */
  readonly ownLimitMb: number | null;
}

/** An execution without its output. */
export type ExecutionSummary = Omit<ExecutionRecord, 'stdout' | 'stderr'>;

export interface ExecutionPage {
  readonly limit: number;
  /** The page starts after this execution; empty if the id is not in the list. */
  readonly afterId?: string | undefined;
  /** Only executions with this status. */
  readonly status?: ExecutionStatus | undefined;
}

export interface ExecutionStore {
  /** Stores it as `running`. */
  insert(execution: NewExecution): Promise<void>;
  /** Stores how it ended. Does nothing if it has already ended. Returns what the account has stored if this added output. */
  finish(id: string, end: ExecutionEnd): Promise<StoredOutput | undefined>;
  /** Drops the oldest output of an account until it has at most this much; a few hundred at a time. Returns how many executions lost theirs. */
  dropOldestOutput(accountId: string, maxBytes: number): Promise<number>;
  find(accountId: string, id: string): Promise<ExecutionRecord | undefined>;
  /** Without reading its output. */
  findSummary(accountId: string, id: string): Promise<ExecutionSummary | undefined>;
  /** The executions of one sandbox, newest first. */
  list(sandboxId: string, page: ExecutionPage): Promise<readonly ExecutionSummary[]>;
  /** All executions that have not ended, of every account. */
  running(): Promise<readonly NewExecution[]>;
}
