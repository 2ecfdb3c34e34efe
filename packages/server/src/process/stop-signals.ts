/** Exit code when a second signal ends the process at once. */
export const forcedStopCode = 130;

/** Signals within this time are one request to stop: a terminal signals every process of `npm start`, and npm and bootstrap.mjs forward it. */
export const sameRequestMs = 1_000;

/** Resolves at the first stop signal. A later one exits at once. */
export function watchStopSignals(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let requestedAtMs: number | undefined;
  const onSignal = (): void => {
    if (requestedAtMs !== undefined && performance.now() - requestedAtMs > sameRequestMs) process.exit(forcedStopCode);
    requestedAtMs ??= performance.now();
    resolve();
  };
  // The handlers stay: a forwarded signal may arrive when the process has just stopped, and must not change the exit code.
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal).on('SIGHUP', onSignal);
  return promise;
}

/** Closing the terminal stops the process. Printing to it fails from then on, which must not interrupt the stop. */
export function ignoreClosedTerminal(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
}
