/** What was seen of the host; nothing here is a judgement. */
export interface HostFacts {
  /** process.platform, e.g. "linux". */
  readonly platform: string;
  /** process.arch, e.g. "arm64". */
  readonly arch: string;
  readonly isRoot: boolean;
  readonly memory: HostMemory;
  /** Bytes that the cache folder's file system has left. */
  readonly cacheFreeBytes: number;
  readonly distribution: Distribution;
  /** Whether Debian packages can be installed at all. */
  readonly hasApt: boolean;
  /** The tools found, by the name of the required tool. */
  readonly tools: ReadonlyMap<string, FoundTool>;
  /** What apt is configured to read; empty without apt. */
  readonly archives: readonly AptArchive[];
}

export interface HostMemory {
  readonly totalBytes: number;
  readonly availableBytes: number;
}

export interface Distribution {
  /** ID of os-release, e.g. "debian"; empty when unknown. */
  readonly id: string;
  /** VERSION_CODENAME of os-release, e.g. "bookworm"; empty when unknown. */
  readonly codename: string;
  /** PRETTY_NAME of os-release. */
  readonly name: string;
}

export interface FoundTool {
  readonly path: string;
  /** Only for tools with a minimum version; undefined when it could not be read. */
  readonly version?: string | undefined;
}

/** One suite of one archive in apt's configuration. */
export interface AptArchive {
  /** e.g. "bookworm-security". */
  readonly suite: string;
  /** Without "dists/…" and without a trailing slash. */
  readonly uri: string;
}
