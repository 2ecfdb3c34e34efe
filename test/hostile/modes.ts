/** One way in which an agent turns on its host. */
export interface Mode {
  readonly name: string;
  /** Whether commands still work: it attacks where no command passes. */
  readonly works?: true;
}

const named = (...names: string[]): Mode[] => names.map((name) => ({ name }));

/** Modes that send what they should not; tried one after another, each beside a good sandbox. */
export const loudModes: readonly Mode[] = [
  // On the bare ports.
  ...named('garbage-on-data', 'zeros-on-data', 'bytes-one-by-one', 'near-markers', 'old-markers'),
  ...named('marker-then-noise', 'marker-then-text', 'garbage-on-control', 'ports-come-and-go'),
  { name: 'flood-on-control', works: true },
  { name: 'lines-on-control', works: true },
  { name: 'bytes-on-control', works: true },
  // In the answer to a command.
  ...named('endless-output', 'endless-tiny-output', 'endless-empty-frames', 'long-frame', 'no-result'),
  ...named('ends-twice', 'starts-twice', 'replays', 'lying-numbers', 'huge-refusal', 'deep-json', 'many-headers'),
  ...named('content-length-short', 'content-length-long', 'content-length-odd', 'status-lies', 'informational'),
  // In HTTP/2 itself.
  ...named('ping-flood', 'ping-flood-read', 'ping-answers-unasked', 'settings-flood', 'settings-flood-read'),
  ...named('window-flood', 'priority-flood', 'unknown-frame-flood', 'reset-flood', 'empty-data-flood'),
  ...named('padding-flood', 'informational-flood', 'trailers-without-end', 'endless-continuation'),
  ...named('pushed-streams', 'thousands-of-streams', 'answers-nobody-asked', 'goodbye'),
  ...named('header-bomb', 'header-size-lie', 'table-size-lie', 'huge-http2-frame', 'more-than-the-window'),
];

/** Modes that keep quiet, so that a call ends only at its deadline; tried side by side. */
export const quietModes: readonly Mode[] = [
  ...named('never-answer', 'stall-in-answer', 'drip', 'silent', 'deaf-to-attach', 'marker-then-silent'),
  ...named('stops-reading', 'frame-length-lie', 'crash'),
];

/** Loud modes that the host has no reason to cut off before the deadline of the call: met once more until that has passed. */
export const lastingModes: readonly Mode[] = named(
  'bytes-one-by-one',
  'garbage-on-control',
  'ports-come-and-go',
  'informational',
  'window-flood',
);

/** Modes of machines that are hostile from their first attach: the create itself meets them. */
export const armedModes: readonly string[] = ['garbage-on-data', 'near-markers', 'marker-then-noise'];
