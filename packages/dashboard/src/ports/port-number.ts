const maxPort = 65_535;

/** Returns the port that a text names; undefined if it names none. */
export function readPort(text: string): number | undefined {
  const trimmed = text.trim();
  if (!/^\d{1,5}$/.test(trimmed)) return undefined;
  const port = Number(trimmed);
  return port >= 1 && port <= maxPort ? port : undefined;
}

/** Returns what is wrong with what was typed; undefined for a port. */
export function portProblem(text: string): string | undefined {
  if (text.trim() === '') return 'Enter the port that the server in the sandbox listens on.';
  return readPort(text) === undefined ? `A port is a number from 1 to ${maxPort.toLocaleString('en')}.` : undefined;
}
