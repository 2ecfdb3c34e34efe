import type { CliIo } from './cli-io.ts';

/** What takes less than this is not worth a line. */
export const progressDelayMs = 2_000;

/** Waits for something. If it takes long, says on a terminal what is being done. */
export async function withProgressLine<Result>(
  { stderr }: Pick<CliIo, 'stderr'>,
  text: string,
  work: () => Promise<Result>,
): Promise<Result> {
  if (!stderr.isTTY) return await work();
  const timer = setTimeout(() => stderr.write(`${text}\n`), progressDelayMs);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}
