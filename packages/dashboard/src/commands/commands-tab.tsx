/** Placeholder until its page is written. */
export function CommandsTab() {
  return null;
}
