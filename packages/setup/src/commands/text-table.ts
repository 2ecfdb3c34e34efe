/** Rows of cells in aligned columns, two spaces apart. Columns of numbers are aligned to the right. */
export function textTable(rows: readonly (readonly string[])[]): string {
  const columns = Math.max(0, ...rows.map((cells) => cells.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((cells) => cells[column]?.length ?? 0)),
  );
  const isNumber = Array.from({ length: columns }, (_, column) =>
    rows.slice(1).every((cells) => /^[\d.]*$/.test(cells[column] ?? '')),
  );
  return rows
    .map((cells) => {
      const padded = widths.map((width, column) => {
        const cell = cells[column] ?? '';
        return isNumber[column] ? cell.padStart(width) : cell.padEnd(width);
      });
      return `${padded.join('  ').trimEnd()}\n`;
    })
    .join('');
}
