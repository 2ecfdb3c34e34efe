/** The part of the address that says which execution is shown. */
export interface CommandsSearch {
  readonly execution?: string;
}

/** Reads the address. What cannot be an id is as if it were not there. */
export function readCommandsSearch({ execution }: Record<string, unknown>): CommandsSearch {
  return typeof execution === 'string' && /^exec_[a-z0-9]{1,64}$/.test(execution) ? { execution } : {};
}
