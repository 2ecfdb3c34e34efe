import { run } from './program.ts';

let outputError: Error | undefined;

for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // A reader that has seen enough, as in `mayfly ls | head -1`, or a terminal that was closed is no error.
    if (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED' || (error.code === 'EIO' && stream.isTTY))
      return;
    outputError ??= error;
    if (process.exitCode !== undefined) reportOutputError();
  });
}

process.exitCode = await run(process.argv.slice(2), process);
reportOutputError();

/** A command whose result could not be written has failed, unless it has failed already and said why. */
function reportOutputError(): void {
  if (outputError === undefined || process.exitCode !== 0) return;
  process.exitCode = 1;
  process.stderr.write(`error: The output could not be written: ${outputError.message}.\n`);
}
