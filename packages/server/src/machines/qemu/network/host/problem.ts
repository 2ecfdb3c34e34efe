/** Something about this host that keeps machines from the network, and what to do about it. */
export interface Problem {
  readonly what: string;
  readonly remedy: string;
}
