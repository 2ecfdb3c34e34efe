/** Placeholder until its page is written. */
export function UsagePage() {
  return null;
}
