import { expect, it } from 'vitest';
import { pinoLog } from '../../../test/machines/pino-log.ts';
import { CleanupRetrier, ReleaseStack } from './release-stack.ts';
import { runStep } from './steps.ts';

/** A stack of three resources, the order in which they were released, and the ones whose release fails. */
function stackOfThree() {
  const released: string[] = [];
  const broken = new Set<string>();
  const stack = new ReleaseStack(runStep);
  const releaseOf = (name: string) => async () => {
    if (broken.has(name)) throw new Error(`${name} is stuck`);
    released.push(name);
  };
  stack.push('remove folder', releaseOf('folder'));
  stack.push('remove cgroup', releaseOf('cgroup'));
  stack.push('end process', releaseOf('process'));
  return { released, broken, stack };
}

it('releases everything once, in reverse order', async () => {
  const { released, stack } = stackOfThree();
  await stack.release();
  await stack.release();
  expect(released).toEqual(['process', 'cgroup', 'folder']);
});

it('stops at a release that fails and continues there', async () => {
  const { released, broken, stack } = stackOfThree();
  broken.add('cgroup');
  await expect(stack.release()).rejects.toThrow('cgroup is stuck');
  expect(released).toEqual(['process']);
  broken.clear();
  await stack.release();
  expect(released).toEqual(['process', 'cgroup', 'folder']);
});

it('no longer releases what another stack absorbed', async () => {
  const { released, stack } = stackOfThree();
  const machine = new ReleaseStack(runStep);
  machine.absorb(stack);
  await stack.release();
  expect(released).toEqual([]);
  await machine.release();
  expect(released).toHaveLength(3);
});

it('retries a failed cleanup until it succeeds, and logs why it failed', async () => {
  const { log, lines } = pinoLog();
  const cleanup = new CleanupRetrier(log);
  const { released, broken, stack } = stackOfThree();
  broken.add('folder');
  await cleanup.release(stack);
  await cleanup.retry();
  expect(released).toEqual(['process', 'cgroup']);
  const failure = expect.objectContaining({
    event: 'cleanup_failed',
    err: expect.objectContaining({ message: 'folder is stuck' }),
  });
  expect(lines()).toEqual([failure, failure]);
  broken.clear();
  await cleanup[Symbol.asyncDispose]();
  expect(released).toEqual(['process', 'cgroup', 'folder']);
});
