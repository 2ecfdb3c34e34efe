import { run } from './program.ts';

for (const stream of [process.stdout, process.stderr]) stream.on('error', ignoreClosedPipe);

process.exitCode = await run(process.argv.slice(2), process);

/** A reader that has seen enough, as in `mayfly ls | head -1`, is no error. */
function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}
