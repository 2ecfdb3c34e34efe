// Generated from the contract. To update it: npx vitest run --project unit packages/sdk/src/api -u

/** The signals that can be sent to a command. */
export type SignalName =
  | 'HUP'
  | 'INT'
  | 'QUIT'
  | 'KILL'
  | 'USR1'
  | 'USR2'
  | 'TERM'
  | 'CONT'
  | 'STOP'
  | 'TSTP'
  | 'WINCH';

/** The account that the API key belongs to. */
export interface Account {
  readonly object: 'account';
  /** Opaque. */
  readonly id: string;
  /** The e-mail address of the account. */
  readonly email: string;
  /** The current balance, with the cost of running sandboxes and stored snapshots already deducted. */
  readonly balanceUsd: number;
  /** The limits of this account. */
  readonly limits: {
    /** The maximum number of sandboxes that are provisioning or running. */
    readonly concurrentSandboxes: number;
    /** The maximum lifetime of a sandbox in minutes, including extensions. */
    readonly maxTimeoutMinutes: number;
  };
  /** The price per hour of each size. */
  readonly pricingUsdPerHour: {
    readonly small: number;
    readonly medium: number;
    readonly large: number;
  };
}

/** One entry of a directory. */
export interface DirectoryEntry {
  /** Bytes that are not UTF-8 are replaced by U+FFFD. */
  readonly name: string;
  /** Devices, sockets and pipes are reported as `file`. */
  readonly type: 'file' | 'dir' | 'symlink';
  /** Null for anything but a regular file. */
  readonly sizeBytes: number | null;
}

/** A command that was run in a sandbox. */
export interface Execution {
  readonly object: 'execution';
  /** Opaque. */
  readonly id: string;
  /** The sandbox that the command runs in. */
  readonly sandboxId: string;
  /** `completed` for any exit code. `failed` if the command could not be started or its result was lost. */
  readonly status: 'running' | 'completed' | 'timeout' | 'failed';
  /** 124 when the command timed out; 128 + signal number when a signal killed it. */
  readonly exitCode: number | null;
  /** Standard output, captured up to the limit. Bytes that are not UTF-8 are replaced by U+FFFD. */
  readonly stdout: string;
  /** Standard error, captured like `stdout`. */
  readonly stderr: string;
  /** Whether output is missing: a stream exceeded the capture limit, or the stored output was dropped. */
  readonly truncated: boolean;
  /** Whether the stored output was dropped because newer output needed the room. `stdout` and `stderr` are empty then. */
  readonly outputDropped: boolean;
  /** Whether a process of the command was killed because the sandbox ran out of memory. */
  readonly oomKilled: boolean;
  /** The duration in milliseconds. */
  readonly durationMs: number | null;
  /** When the command was accepted. */
  readonly startedAt: Date | null;
  /** When the command finished. */
  readonly finishedAt: Date | null;
}

/** An execution without its output. */
export interface ExecutionSummary {
  readonly object: 'execution';
  /** Opaque. */
  readonly id: string;
  /** The sandbox that the command runs in. */
  readonly sandboxId: string;
  /** `completed` for any exit code. `failed` if the command could not be started or its result was lost. */
  readonly status: 'running' | 'completed' | 'timeout' | 'failed';
  /** 124 when the command timed out; 128 + signal number when a signal killed it. */
  readonly exitCode: number | null;
  /** Whether output is missing: a stream exceeded the capture limit, or the stored output was dropped. */
  readonly truncated: boolean;
  /** Whether the stored output was dropped because newer output needed the room. `stdout` and `stderr` are empty then. */
  readonly outputDropped: boolean;
  /** Whether a process of the command was killed because the sandbox ran out of memory. */
  readonly oomKilled: boolean;
  /** The duration in milliseconds. */
  readonly durationMs: number | null;
  /** When the command was accepted. */
  readonly startedAt: Date | null;
  /** When the command finished. */
  readonly finishedAt: Date | null;
}

/** A preview: a port of a sandbox that is exposed on a public URL. */
export interface Port {
  readonly object: 'port';
  /** The sandbox that the port belongs to. */
  readonly sandboxId: string;
  /** The port in the sandbox. */
  readonly port: number;
  /** The public URL of the port. It contains an unguessable token. */
  readonly url: string;
  /** When the port was exposed. */
  readonly createdAt: Date;
}

/** A disposable virtual machine. */
export interface SandboxInfo {
  readonly object: 'sandbox';
  /** Opaque. */
  readonly id: string;
  /** The label that was given at creation. */
  readonly name: string | null;
  /** Commands run only while `running`. A sandbox never returns to `running` once it has left it. */
  readonly status: 'provisioning' | 'running' | 'deleting' | 'deleted' | 'failed';
  /** The reason for the status, e.g. `expired`, `machine_died: …` or `evicted: …` (the host ran out of memory or disk). Null while the sandbox is healthy. */
  readonly statusReason: string | null;
  readonly size: 'small' | 'medium' | 'large';
  /** The resources of the machine, determined by its size. */
  readonly resources: {
    /** Virtual CPUs. */
    readonly vcpu: number;
    /** Memory in GB. */
    readonly memoryGb: number;
    /** Disk in GB. */
    readonly diskGb: number;
  };
  /** The snapshot that the sandbox was copied from, even if that is deleted by now. Null if it was not created from a snapshot. */
  readonly snapshotId: string | null;
  /** The lifetime in minutes, including extensions. */
  readonly timeoutMinutes: number;
  /** When the sandbox was requested. */
  readonly createdAt: Date;
  /** When the sandbox became ready to accept commands. */
  readonly readyAt: Date | null;
  /** When the sandbox expires and is destroyed. */
  readonly expiresAt: Date | null;
  /** When the sandbox stopped running, or when its creation failed or was cancelled; `status_reason` gives the reason. Never later than `expires_at`; nothing after it is billed. Null while the sandbox is provisioning or running. */
  readonly endedAt: Date | null;
  /** When the sandbox was deleted. */
  readonly deletedAt: Date | null;
}

/** Memory and disk of a sandbox at one instant. */
export interface Snapshot {
  readonly object: 'snapshot';
  /** Opaque. */
  readonly id: string;
  /** The label that was given at creation. */
  readonly name: string | null;
  /** The name by which `template` finds it; unique within the account. */
  readonly alias: string | null;
  /** Opaque. */
  readonly sandboxId: string;
  readonly size: 'small' | 'medium' | 'large';
  /** Sandboxes are created only from snapshots that are `ready`. */
  readonly status: 'creating' | 'ready' | 'failed';
  /** What its files take on disk. A file that several snapshots share counts for the oldest of them, so deleting that one can make the next one larger. */
  readonly bytes: number;
  /** When the snapshot was requested. */
  readonly createdAt: Date;
}

/** What a sandbox uses, as it reports itself. */
export interface Stats {
  readonly object: 'stats';
  /** Opaque. */
  readonly sandboxId: string;
  /** When it was measured. */
  readonly measuredAt: Date;
  /** The processors. */
  readonly cpu: {
    /** The number of vCPUs. */
    readonly count: number;
    /** CPU time of all commands since the sandbox started, in milliseconds. It only grows. */
    readonly usedMs: number;
    /** CPU time since the previous measurement; 100 is one vCPU. */
    readonly percent: number;
  };
  /** The memory. */
  readonly memory: {
    /** All memory. */
    readonly totalBytes: number;
    /** Not available to new programs. */
    readonly usedBytes: number;
  };
  /** The file system. */
  readonly disk: {
    /** The size of the file system. */
    readonly totalBytes: number;
    /** Not available to the user. */
    readonly usedBytes: number;
  };
  /** The network. */
  readonly network: {
    /** Received since the sandbox started. */
    readonly receivedBytes: number;
    /** Sent since the sandbox started. */
    readonly sentBytes: number;
  };
  /** Processes and threads of all commands. */
  readonly processes: number;
  /** Since its kernel started; for a copy, since the kernel of its snapshot started. */
  readonly uptimeMs: number;
}

/** Usage of an account over a period. */
export interface Usage {
  readonly object: 'usage';
  /** The length of the period in days. */
  readonly periodDays: number;
  /** The current balance, regardless of the period, with the cost of running sandboxes and stored snapshots already deducted. */
  readonly balanceUsd: number;
  /** Spending in the period. */
  readonly spentUsd: number;
  /** The part of `spent_usd` that stored snapshots cost. */
  readonly snapshotStorageUsd: number;
  /** Credit added in the period. */
  readonly addedUsd: number;
  /** Sandboxes created in the period. */
  readonly sandboxesCreated: number;
  /** Total runtime of sandboxes in the period, in minutes. */
  readonly runtimeMinutes: number;
}

/** The result of writing a file. */
export interface WrittenFile {
  readonly object: 'file';
  /** The sandbox that the file is in. */
  readonly sandboxId: string;
  /** The absolute path in the sandbox. */
  readonly path: string;
  /** The size of the file on disk. */
  readonly bytes: number;
}
