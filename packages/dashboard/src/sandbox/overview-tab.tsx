/** Placeholder until its page is written. */
export function OverviewTab() {
  return null;
}
