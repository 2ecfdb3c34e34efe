const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** A number of bytes in three digits at most: "0 B", "9.8 KiB", "412 MiB". */
export function formatSize(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const inUnit = bytes / 1024 ** power;
  // 1023.6 KiB would be rounded to four digits.
  if (Math.round(inUnit) === 1024 && power < units.length - 1) return `1 ${units[power + 1]}`;
  const text = power === 0 || inUnit >= 99.95 ? `${Math.round(inUnit)}` : inUnit.toFixed(1).replace(/\.0$/, '');
  return `${text} ${units[power]}`;
}

/** "1.2 MiB/s" */
export function formatRate(bytesPerSecond: number): string {
  return `${formatSize(bytesPerSecond)}/s`;
}
