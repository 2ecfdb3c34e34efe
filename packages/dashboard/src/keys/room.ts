/** From here on the number of keys that can still be created is said. */
const nearRoom = 2;

/** How many keys an account has and may have, in a sentence that says what follows from it. */
export function describeRoom(active: number, limit: number): string {
  const left = limit - active;
  const used = `${active} of ${limit} active keys.`;
  if (left <= 0) return `${used} Revoke one to create another.`;
  if (left > nearRoom) return used;
  return `${used} ${left === 1 ? 'One more' : `${left} more`} can be created.`;
}
