/** Placeholder until its page is written. */
export function TerminalTab() {
  return null;
}
