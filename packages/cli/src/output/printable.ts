/** Text without control characters, so that what somebody else chose cannot steer the terminal. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, '?');
}
