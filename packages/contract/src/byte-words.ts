const units = [
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
] as const;

/** So many bytes as people say it, to one decimal place. */
export function byteWords(count: number): string {
  const [unit, size] = units.find(([, least]) => count >= least) ?? ['bytes', 1];
  return `${(Math.round((count / size) * 10) / 10).toLocaleString('en-US')} ${unit}`;
}
