import type { ExecutionStatus } from '@mayfly/contract';

/** An execution as it is kept. Output is bytes, as the command wrote them. */
export interface ExecutionRecord {
  readonly id: string;
  readonly accountId: string;
  readonly sandboxId: string;
  readonly status: ExecutionStatus;
  readonly exitCode: number | null;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly truncated: boolean;
  /** The kernel of the sandbox killed a process of it for lack of memory. */
  readonly oomKilled: boolean;
  readonly durationMs: number | null;
  readonly startedAtMs: number;
  readonly finishedAtMs: number | null;
}

export type NewExecution = Pick<ExecutionRecord, 'id' | 'accountId' | 'sandboxId' | 'startedAtMs'>;

export type ExecutionEnd = Pick<
  ExecutionRecord,
  'status' | 'exitCode' | 'stdout' | 'stderr' | 'truncated' | 'oomKilled' | 'durationMs' | 'finishedAtMs'
>;

/** An execution without its output. */
export type ExecutionSummary = Omit<ExecutionRecord, 'stdout' | 'stderr'>;

export interface ExecutionPage {
  readonly limit: number;
  /** Only what comes after this one in the list; an id that is not there gives an empty page. */
  readonly afterId?: string | undefined;
}

export interface ExecutionStore {
  /** Keeps it as `running`. */
  insert(execution: NewExecution): Promise<void>;
  /** Writes how it ended, once: an execution that has ended stays as it is. */
  finish(id: string, end: ExecutionEnd): Promise<void>;
  find(accountId: string, id: string): Promise<ExecutionRecord | undefined>;
  /** Of one sandbox, newest first. */
  list(sandboxId: string, page: ExecutionPage): Promise<readonly ExecutionSummary[]>;
  /** All that have not ended, of every account. */
  running(): Promise<readonly NewExecution[]>;
}
