const units = [
  ['GB', 1e9],
  ['MB', 1e6],
  ['kB', 1e3],
] as const;

/** What something takes on disk: "29.1 MB", "2.4 GB". */
export function formatSize(bytes: number): string {
  const [unit, size] = units.find(([, least]) => bytes >= least) ?? ['bytes', 1];
  const count = bytes / size;
  return `${count.toFixed(size === 1 || count >= 100 ? 0 : 1)} ${unit}`;
}
