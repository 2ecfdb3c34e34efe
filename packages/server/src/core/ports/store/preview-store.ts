import type { SandboxStatus } from '@mayfly/contract';

/** A port of a sandbox with a public URL, as it is stored. */
export interface PreviewRecord {
  readonly sandboxId: string;
  readonly port: number;
  /** Unguessable; one DNS label. */
  readonly token: string;
  readonly createdAtMs: number;
}

/** A preview and the status of its sandbox. */
export interface KnownPreview extends PreviewRecord {
  readonly sandboxStatus: SandboxStatus;
}

export interface PreviewStore {
  /** Stores it unless the port is already open, and returns what is stored. Undefined if the sandbox is not running. */
  open(preview: PreviewRecord): Promise<PreviewRecord | undefined>;
  /** A preview that is open, or was open when its sandbox's machine died. Undefined while the account is suspended. */
  findByToken(token: string): Promise<KnownPreview | undefined>;
  /** The previews of a running sandbox, oldest first. */
  list(sandboxId: string): Promise<readonly PreviewRecord[]>;
  /** False if the port is not open. */
  close(sandboxId: string, port: number): Promise<boolean>;
}
