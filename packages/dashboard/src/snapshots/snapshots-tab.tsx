/** Placeholder until its page is written. */
export function SnapshotsTab() {
  return null;
}
