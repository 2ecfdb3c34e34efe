/** The entry `@mayfly/server/supervisor`: running the host process and the service. */

export { oldGuestDays } from './guest-age.ts';
export { wantedPorts } from './openable-ports.ts';
export type { PreparedMachines } from './processes.ts';
export { supervise } from './supervise.ts';
