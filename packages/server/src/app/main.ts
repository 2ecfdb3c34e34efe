// The service process: API, gateway and everything else that reads bytes from outside, without any privilege. `npm start` starts it, confined,
// beside the host process. Its settings are environment variables; the argument "destroy" makes it destroy every sandbox and end.

import { ignoreClosedTerminal, watchStopSignals } from '../process/stop-signals.ts';
import { destroySandboxes, runService } from './run-service.ts';

const stopRequested = watchStopSignals();
ignoreClosedTerminal();
process.exitCode = process.argv[2] === 'destroy' ? await destroySandboxes() : await runService(stopRequested);
