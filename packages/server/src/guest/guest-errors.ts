import { GuestUnreachable } from '../core/ports/guest-agent.ts';

/** The agent did not answer in time. It may answer on a new channel. */
export class NoAnswer extends GuestUnreachable {}

/**
 * The agent ended a session before its first answer. This happens on a very busy host, when the kernel of the guest reports late that a port is open.
 * The next session may last.
 */
export class SessionEnded extends GuestUnreachable {}

/** The agent sent something that docs/agent-protocol.md does not allow. The call in progress fails. */
export class ProtocolViolation extends GuestUnreachable {
  constructor(message: string, options?: ErrorOptions) {
    super(`the agent violated the protocol: ${message}`, options);
    this.name = 'ProtocolViolation';
  }
}

/** The agent announced a frame above the size limit. Its whole connection is closed. */
export class FrameTooLarge extends ProtocolViolation {}
