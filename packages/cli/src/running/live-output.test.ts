import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { LiveOutput } from './live-output.ts';

const streams = () => ({ env: {}, stdout: new PassThrough({ highWaterMark: 10 }), stderr: new PassThrough() });

it('waits until what was written is read', async () => {
  const io = streams();
  using output = new LiveOutput(io);
  await output.write('stdout', 'short');
  let isWritten = false;
  const writing = output.write('stdout', 'x'.repeat(100)).then(() => {
    isWritten = true;
  });
  await new Promise(setImmediate);
  expect(isWritten).toBe(false);
  io.stdout.resume();
  await writing;
});

it('a closed pipe ends the waiting with 141, and other errors say what happened', async () => {
  const io = streams();
  using output = new LiveOutput(io);
  const writing = output.write('stdout', 'x'.repeat(100));
  io.stdout.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
  await expect(writing).rejects.toMatchObject({ exitCode: 141 });
  await expect(output.write('stderr', 'x')).rejects.toMatchObject({ exitCode: 141 });
  const full = streams();
  using other = new LiveOutput(full);
  full.stdout.destroy(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }));
  await expect.poll(() => other.broken.aborted).toBe(true);
  expect(other.broken.reason).toMatchObject({ message: 'The output could not be written: no space left on device.' });
});
