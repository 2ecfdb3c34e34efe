/** Placeholder until its page is written. */
export function SnapshotsPage() {
  return null;
}
