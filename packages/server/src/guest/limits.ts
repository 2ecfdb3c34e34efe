/** How long the host waits for the guest; every value in milliseconds unless its name says otherwise. */
export interface GuestDeadlines {
  /** Calls that only exchange a small JSON body. */
  readonly smallCallMs: number;
  /** Added to a command's own timeout. */
  readonly executeGraceMs: number;
  /** For a command that an earlier connection started: the longest command timeout plus the grace. */
  readonly resumeMs: number;
  /** Files may take smallCallMs plus their largest size at this speed. */
  readonly slowestBytesPerSecond: number;
  /** For a directory to be removed with all that is in it, however much that is. */
  readonly removeTreeMs: number;
  /** Between the control lines of an attach. */
  readonly attachRepeatMs: number;
  /** For the marker's answer before both ports are connected anew; doubled for each try. */
  readonly firstSyncMs: number;
  /** Between the pings sent while a command runs. */
  readonly pingIntervalMs: number;
  /** For the answer to such a ping; generous, since a guest may be busy under emulation. */
  readonly pingAnswerMs: number;
}

export const defaultDeadlines: GuestDeadlines = Object.freeze({
  smallCallMs: 15_000,
  executeGraceMs: 30_000,
  resumeMs: 630_000,
  slowestBytesPerSecond: 262_144,
  removeTreeMs: 600_000,
  attachRepeatMs: 100,
  firstSyncMs: 1_000,
  pingIntervalMs: 10_000,
  pingAnswerMs: 30_000,
});

/** Bounds on what one guest can make the host hold or read, in bytes unless the name says otherwise. */
export const guestLimits = Object.freeze({
  /** Read from the data port before the marker. */
  syncBytes: 64 * 1024 * 1024,
  /** Read from the control port of one connection; an agent needs a few lines. */
  controlBytes: 64 * 1024,
  framePayloadBytes: 65_536,
  /** The JSON of a frame. */
  frameJsonBytes: 4_096,
  jsonBytes: 1024 * 1024,
  /** The JSON of one entry of a listing: a name of 255 bytes in base64, and what stands around it. */
  entryJsonBytes: 432,
  errorBytes: 16 * 1024,
  /** The receive window of one stream: what the host may hold of it while nobody reads. */
  streamWindowBytes: 256 * 1024,
  /** The receive window of the connection. */
  connectionWindowBytes: 8 * 1024 * 1024,
  /** Handed to a stream at once. What waits there counts as the session's memory, and a session that is over it takes no new stream. */
  writeBytes: 65_536,
  headerListBytes: 16 * 1024,
  headerPairs: 32,
  /** Memory nghttp2 and Node may hold for one session, in megabytes as Node counts them. */
  sessionMemoryMb: 64,
  /** Frames on top of two per captured byte that one execution may send. */
  extraFrames: 4_096,
});
