import PQueue from 'p-queue';

/** Does the work for every item, at most `concurrency` at a time. Waits for all of it, then rejects if any failed. */
export async function forEachConcurrently<T>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = new PQueue({ concurrency });
  const results = await Promise.allSettled(items.map((item) => queue.add(() => work(item))));
  for (const result of results) if (result.status === 'rejected') throw result.reason as Error;
}
