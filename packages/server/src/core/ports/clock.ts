/** The time of the service. Everything that decides by time asks here. */
export interface Clock {
  /** Unix milliseconds, an integer. */
  nowMs(): number;
}

/** The clock of this machine. */
export const systemClock: Clock = { nowMs: () => Date.now() };
