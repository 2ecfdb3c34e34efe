/** What a process exits with when it cannot start and said why: EX_CONFIG of sysexits.h. The supervisor does not start it again, unless it ran before. */
export const cannotStartCode = 78;

/** What a process exits with when it cannot start yet and said why: EX_TEMPFAIL of sysexits.h. The supervisor starts it again. */
export const cannotStartYetCode = 75;

/** A reason for which a process cannot start until the operator does what the message says. */
export class CannotStart extends Error {}
