/** One way in which an agent attacks its host. */
export interface Mode {
  readonly name: string;
  /** Commands still work, because the attack is on the control port. */
  readonly commandsWork?: true;
  /** Part of the short form of the suite: one of each kind of attack. */
  readonly isTypical?: true;
}

function named(...names: string[]): Mode[] {
  return names.map((name) => ({ name }));
}

function typical(...names: string[]): Mode[] {
  return names.map((name) => ({ name, isTypical: true }));
}

/** Modes that send invalid or excessive data. Each is tested beside a well-behaved sandbox. */
export const loudModes: readonly Mode[] = [
  // On the serial ports themselves.
  ...typical('garbage-on-data', 'near-markers', 'reopen-ports'),
  ...named('zeros-on-data', 'bytes-one-by-one', 'old-markers'),
  ...named('marker-then-noise', 'marker-then-text', 'garbage-on-control'),
  { name: 'flood-on-control', commandsWork: true, isTypical: true },
  { name: 'lines-on-control', commandsWork: true },
  { name: 'bytes-on-control', commandsWork: true },
  // In the response to a command.
  ...typical('endless-tiny-output', 'long-frame', 'lying-numbers'),
  ...named('endless-output', 'endless-empty-frames', 'no-result'),
  ...named('ends-twice', 'starts-twice', 'replays', 'huge-refusal', 'deep-json', 'many-headers'),
  ...named('content-length-short', 'content-length-long', 'content-length-odd', 'status-lies', 'informational'),
  // In HTTP/2 itself.
  ...typical('ping-flood', 'endless-continuation', 'header-bomb', 'origin-flood'),
  ...named('ping-flood-read', 'unsolicited-ping-acks', 'settings-flood', 'settings-flood-read', 'unsolicited-acks'),
  ...named('altsvc-flood', 'late-data-flood'),
  ...named('window-flood', 'priority-flood', 'unknown-frame-flood', 'reset-flood', 'empty-data-flood'),
  ...named('padding-flood', 'informational-flood', 'trailers-without-end'),
  ...named('pushed-streams', 'thousands-of-streams', 'unsolicited-responses', 'goaway'),
  ...named('header-size-lie', 'table-size-lie', 'huge-http2-frame', 'more-than-the-window'),
];

/** Modes that send nothing, so that a call ends only at its deadline. They are tested together. */
export const quietModes: readonly Mode[] = [
  ...named('never-answer', 'stall-in-answer', 'drip', 'silent', 'ignore-attach', 'marker-then-silent'),
  ...named('stops-reading', 'frame-length-lie', 'crash'),
];

/** Loud modes that the host tolerates until the deadline of the call. They are tested once more until that deadline. */
export const lastingModes: readonly Mode[] = named(
  'bytes-one-by-one',
  'garbage-on-control',
  'reopen-ports',
  'informational',
  'late-data-flood',
);

/** Modes of machines that are hostile from their first attach, so that they affect the create. */
export const armedModes: readonly string[] = ['garbage-on-data', 'near-markers', 'marker-then-noise'];
