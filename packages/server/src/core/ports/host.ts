/** What the host has left, in bytes. */
export interface HostFigures {
  readonly memoryAvailableBytes: number;
  /** Where the disks of machines grow. */
  readonly diskFreeBytes: number;
}

/** Looks at the host, at once and without waiting. */
export interface HostProbe {
  figures(): HostFigures;
}
