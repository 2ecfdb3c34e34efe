/** The entry `@mayfly/server/guest`: talking to the agent in a machine. */
export type { GuestConnector } from '../core/ports/guest-agent.ts';
export { createGuestConnector } from './connector.ts';
