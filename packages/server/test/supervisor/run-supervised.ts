// Runs the host process and the service as npm start does, in a process of its own. Settings come from the environment, the results of set-up
// from the first argument. SIGTERM stops both and leaves the machines running; SIGINT destroys the machines afterwards. With "host" as second
// argument only the host process is run.
import type { PreparedMachines } from '../../src/supervisor/processes.ts';
import { supervise } from '../../src/supervisor/supervise.ts';

const machines = JSON.parse(process.argv[2] ?? '') as PreparedMachines;
let isToDestroy = false;
process.on('SIGINT', () => {
  isToDestroy = true;
});
const code = await supervise(machines, process.argv[3] === 'host' ? 'host' : 'serve');
process.exitCode = isToDestroy && code === 0 ? await supervise(machines, 'destroy') : code;
