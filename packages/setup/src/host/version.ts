/** The first dotted number in a text, e.g. "10.0.2" of "QEMU emulator version 10.0.2 (Debian …)". */
export function findVersion(text: string): string | undefined {
  return /\d+(?:\.\d+)+/.exec(text)?.[0];
}

/** Whether a dotted version is the same as or newer than another. */
export function isAtLeast(version: string, minimum: string): boolean {
  const actual = version.split('.').map(Number);
  for (const [index, wanted] of minimum.split('.').map(Number).entries()) {
    const part = actual[index] ?? 0;
    if (part !== wanted) return part > wanted;
  }
  return true;
}
