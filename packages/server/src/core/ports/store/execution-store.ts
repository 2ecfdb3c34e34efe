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
  readonly durationMs: number | null;
  readonly startedAtMs: number;
  readonly finishedAtMs: number | null;
}

export type NewExecution = Pick<ExecutionRecord, 'id' | 'accountId' | 'sandboxId' | 'startedAtMs'>;

export type ExecutionEnd = Pick<
  ExecutionRecord,
  'status' | 'exitCode' | 'stdout' | 'stderr' | 'truncated' | 'durationMs' | 'finishedAtMs'
>;

export interface ExecutionStore {
  /** Keeps it as `running`. */
  insert(execution: NewExecution): Promise<void>;
  /** Writes how it ended, once: an execution that has ended stays as it is. */
  finish(id: string, end: ExecutionEnd): Promise<void>;
  find(accountId: string, id: string): Promise<ExecutionRecord | undefined>;
  /** Ends every `running` one as `failed`; gives how many. */
  failRunning(finishedAtMs: number): Promise<number>;
}
