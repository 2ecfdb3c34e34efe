/** Placeholder until its page is written. */
export function FilesTab() {
  return null;
}
