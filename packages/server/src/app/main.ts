import { greeting } from './greeting.ts';
import { openLog } from './log.ts';
import { type Service, type ServiceOptions, startService } from './service.ts';
import { StartError } from './start-error.ts';

export type RunOptions = Omit<ServiceOptions, 'log'> & Partial<Pick<ServiceOptions, 'log'>>;

/** Runs the service until SIGINT or SIGTERM and gives the exit code. A second signal ends it without waiting. */
export async function runService(options: RunOptions): Promise<number> {
  const stopRequested = nextStopSignal();
  let service: Service;
  try {
    service = await startService({ ...options, log: options.log ?? openLog(options.config) });
  } catch (error) {
    return reportFailedStart(error);
  }
  process.stdout.write(greeting(service.url, service.firstAccount, service.previews));
  await stopRequested;
  process.stdout.write('Stopping: requests in flight may finish. Again to stop at once.\n');
  void nextStopSignal().then(() => process.exit(130));
  try {
    await service.stop();
  } catch (error) {
    process.stderr.write(`Mayfly did not stop cleanly: ${error instanceof Error ? error.stack : String(error)}\n`);
    return 1;
  }
  process.stdout.write(
    'Stopped. Running sandboxes stay alive; the next start takes them over, npm run destroy ends them.\n',
  );
  return 0;
}

/** Tells the operator why the service does not start; gives the exit code. Use it for settings that cannot be read, too. */
export function reportFailedStart(error: unknown): number {
  const reason = error instanceof StartError ? error.message : error instanceof Error ? error.stack : String(error);
  process.stderr.write(`Mayfly cannot start. ${reason}\n`);
  return 1;
}

function nextStopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const received = (signal: NodeJS.Signals): void => {
      process.off('SIGINT', received);
      process.off('SIGTERM', received);
      resolve(signal);
    };
    process.on('SIGINT', received);
    process.on('SIGTERM', received);
  });
}
