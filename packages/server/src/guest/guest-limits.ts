import { machineDeadlines } from '../core/ports/machine-deadlines.ts';
/** How long the service waits for the guest. */
export interface GuestDeadlines {
  /** For calls with small JSON bodies. */
  readonly smallCallMs: number;
  /** Added to a command's own timeout. */
  readonly executeGraceMs: number;
  /** For a command that an earlier connection started: the longest command timeout plus the grace. */
  readonly resumeMs: number;
  /** A file transfer may take smallCallMs plus the time for its maximum size at this speed, because several share the connection of a slow guest. */
  readonly slowestBytesPerSecond: number;
  /** For the removal of a directory tree of any size. */
  readonly removeTreeMs: number;
  /** Between the control lines of an attach. */
  readonly attachRepeatMs: number;
  /** For the agent's marker before both ports are reconnected; doubled with each attempt. */
  readonly firstSyncMs: number;
  /** Between pings while a command runs. */
  readonly pingIntervalMs: number;
  /** For the answer to a ping; generous, because a guest under emulation may be busy. */
  readonly pingAnswerMs: number;
}

export const defaultDeadlines: GuestDeadlines = Object.freeze({
  smallCallMs: 15_000,
  executeGraceMs: 30_000,
  resumeMs: 630_000,
  slowestBytesPerSecond: 65_536,
  removeTreeMs: 600_000,
  attachRepeatMs: 100,
  firstSyncMs: machineDeadlines.attach.firstSyncMs,
  pingIntervalMs: 10_000,
  pingAnswerMs: 30_000,
});

/** Limits on what one guest can make the service buffer or read. */
export const guestLimits = Object.freeze({
  /** Read from the data port before the marker. */
  syncBytes: 64 * 1024 * 1024,
  /** Read from the control port of one connection. An agent needs a few lines. */
  controlBytes: 64 * 1024,
  framePayloadBytes: 65_536,
  /** The JSON of a frame. */
  frameJsonBytes: 4_096,
  jsonBytes: 1024 * 1024,
  /** The JSON of one entry of a listing: a name of 255 bytes in base64, and the other fields. */
  entryJsonBytes: 432,
  errorBytes: 16 * 1024,
  /** Answers up to this size are collected without asking for room. */
  unreservedBytes: 32 * 1024,
  /** Room that is reserved for a large answer beyond what has arrived. */
  reserveStepBytes: 256 * 1024,
  /** The receive window of one stream: what the service buffers of it while it is not read. */
  streamWindowBytes: 256 * 1024,
  /** The receive window of the connection. */
  connectionWindowBytes: 8 * 1024 * 1024,
  /** Written to a stream at once. Pending writes count as memory of the session, and a session above its limit accepts no new stream. */
  writeBytes: 65_536,
  /** Typed into a terminal in one frame. */
  terminalInputBytes: 16_384,
  headerListBytes: 16 * 1024,
  headerPairs: 32,
  /** Memory that nghttp2 and Node may use for one session, in Node's megabytes. */
  sessionMemoryMb: 64,
  /** Frames that one execution may send beyond two per captured byte. */
  extraFrames: 4_096,
  /** How long the answers of one connection are parsed in one turn of the event loop before others get theirs. */
  turnMs: 2,
  /** HTTP/2 pings and settings that one connection may send, and likewise interim responses. An agent sends one settings frame and nothing else. */
  unexpectedFrames: 16,
  /** The payload of an HTTP/2 frame: as much as an agent reads from a tunnel at once, because every frame costs an emulated guest time. */
  http2FrameBytes: 65_536,
  /** The compressed headers of one answer. An agent needs less than 200 bytes. */
  headersFrameBytes: 1_024,
  /** Every so many of them count as one more frame, because each byte may stand for a header. */
  headersBytesPerFrame: 32,
  /** HTTP/2 frames of one connection that are handled in one turn of the event loop before others get theirs. */
  framesPerTurn: 256,
  /** HTTP/2 frames other than data that a connection may send before the service has sent anything. */
  frameCredit: 256,
  /** For every so many bytes that the service sent, the connection may send one more. The shortest request has 19 bytes. */
  sentBytesPerFrame: 4,
  /** What a connection can save up of that. */
  mostFrameCredit: 16_384,
});
