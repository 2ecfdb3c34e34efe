import type { SandboxStatus } from '@mayfly/contract';

/** A port of a sandbox that is reachable from outside, as it is kept. */
export interface PreviewRecord {
  readonly sandboxId: string;
  readonly port: number;
  /** Unguessable; one DNS label. */
  readonly token: string;
  readonly createdAtMs: number;
}

/** A preview together with how its sandbox is. */
export interface KnownPreview extends PreviewRecord {
  readonly sandboxStatus: SandboxStatus;
}

export interface PreviewStore {
  /** Keeps it, unless the port is open already; gives what is kept. Undefined if the sandbox is not running. */
  open(preview: PreviewRecord): Promise<PreviewRecord | undefined>;
  /** Undefined unless it is open, or was open when its sandbox's machine died. */
  findByToken(token: string): Promise<KnownPreview | undefined>;
  /** Those of a running sandbox, oldest first. */
  list(sandboxId: string): Promise<readonly PreviewRecord[]>;
  /** False if the port is not open. */
  close(sandboxId: string, port: number): Promise<boolean>;
}
