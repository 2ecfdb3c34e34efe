/** The entry `@mayfly/server/supervisor`: running the host process and the service. */

export { type PreparedMachines, supervise } from './supervise.ts';
