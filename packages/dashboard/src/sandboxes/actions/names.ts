/** "1 sandbox", "12 sandboxes". */
export function countOf(count: number): string {
  return `${count} ${count === 1 ? 'sandbox' : 'sandboxes'}`;
}
