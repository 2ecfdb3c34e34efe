import { GuestUnreachable } from '../core/ports/guest-agent.ts';

/** The agent did not answer in time; it may answer on a fresh connection. */
export class NoAnswer extends GuestUnreachable {}
