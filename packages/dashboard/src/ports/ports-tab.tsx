/** Placeholder until its page is written. */
export function PortsTab() {
  return null;
}
