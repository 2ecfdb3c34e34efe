import { GuestUnreachable } from '../core/ports/guest-agent.ts';

/** The agent sent something that docs/agent-protocol.md does not allow; the call it belonged to is lost. */
export class ProtocolViolation extends GuestUnreachable {
  constructor(message: string, options?: ErrorOptions) {
    super(`the agent broke the protocol: ${message}`, options);
    this.name = 'ProtocolViolation';
  }
}
