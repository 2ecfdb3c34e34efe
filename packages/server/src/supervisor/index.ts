/** The entry `@mayfly/server/supervisor`: running the host process and the service. */

export { type PreparedMachines, wantedPorts } from './processes.ts';
export { supervise } from './supervise.ts';
