// Runs the host process and the service as npm start does, for suites that kill and restart them. Settings come from the environment, the prepared
// host from the first argument. SIGTERM stops both and leaves the machines running; SIGINT destroys the machines afterwards.
import { supervise } from '#server/supervisor/supervise.ts';
import type { PreparedHost } from './prepared-host.ts';

const host = JSON.parse(process.argv[2] ?? '') as PreparedHost;
let isToDestroy = false;
process.on('SIGINT', () => {
  isToDestroy = true;
});
const code = await supervise(host);
process.exitCode = isToDestroy && code === 0 ? await supervise(host, 'destroy') : code;
