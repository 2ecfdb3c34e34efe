/** A port of a sandbox that is reachable from outside, as it is kept. */
export interface PreviewRecord {
  readonly sandboxId: string;
  readonly port: number;
  /** Unguessable; one DNS label. */
  readonly token: string;
  readonly createdAtMs: number;
}

export interface PreviewStore {
  /** Keeps it, unless the port is open already; gives what is kept. Undefined if the sandbox is not running. */
  open(preview: PreviewRecord): Promise<PreviewRecord | undefined>;
  /** Oldest first. */
  list(sandboxId: string): Promise<readonly PreviewRecord[]>;
  /** False if the port is not open. */
  close(sandboxId: string, port: number): Promise<boolean>;
}
