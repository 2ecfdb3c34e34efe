const maxCharacters = 200;

/** A path for a message: quoted, on one line, its beginning left out if it is long. */
export function showPath(path: string): string {
  return JSON.stringify(path.length > maxCharacters ? `…${path.slice(-maxCharacters)}` : path).toWellFormed();
}
