/**
 * How soon the death of a machine is noticed at the latest. It is over a hundred times what is observed, so that only a death that nobody noticed
 * exceeds it, however slow the host is.
 */
export const machineDeathNoticedMs = 10_000;
