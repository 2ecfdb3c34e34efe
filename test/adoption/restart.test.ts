import { spawnSync } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createSandbox, exec } from '../support/api-requests.ts';
import { hostState, leftSince } from '../support/host-state.ts';
import { length } from '../support/length.ts';
import { machineProcesses } from '../support/machine-processes.ts';
import { useServiceProcesses } from '../support/service-process.ts';

const count = length(8, 20);
const { newData, start } = useServiceProcesses();

/** Unmounts /run/netns unless it is in use, as on a host where no network namespace was ever created. */
function unmountNetns(): void {
  const script = 'if [ -z "$(ls -A /run/netns)" ]; then umount /run/netns; rmdir /run/netns; fi';
  spawnSync('sh', ['-c', script], { stdio: 'ignore' });
}

it('many machines survive a kill -9 of all processes, and a stop that destroys them leaves nothing', async () => {
  unmountNetns();
  const before = await hostState();
  console.log(`/run/netns is ${before.includes(' /run/netns ') ? '' : 'not '}mounted before`);
  const [data, otherData] = [await newData(), await newData()];
  const other = await start(otherData);
  const foreign = await createSandbox(other);

  const first = await start(data);
  const sandboxes = await Promise.all(Array.from({ length: count }, () => createSandbox(first)));
  await Promise.all(sandboxes.map(({ id }) => exec(first, id, `echo ${id} > /workspace/mark`)));

  await first.kill();
  expect(await machineProcesses(data.dataDir)).toHaveLength(count);
  const startedMs = performance.now();
  const second = await start(data);
  const marks = await Promise.all(sandboxes.map(({ id }) => exec(second, id, 'cat /workspace/mark')));
  console.log(
    `${count} machines adopted and responding ${Math.round(performance.now() - startedMs)} ms after the restart`,
  );
  expect(marks.map(({ stdout }) => stdout.trim())).toEqual(sandboxes.map(({ id }) => id));

  expect((await exec(other, foreign.id, 'echo untouched')).stdout).toBe('untouched\n');
  await second.destroy();
  expect((await exec(other, foreign.id, 'echo untouched')).stdout).toBe('untouched\n');
  await other.destroy();
  expect(await readdir(join(data.dataDir, 'machines'))).toEqual([]);
  expect(await leftSince(before)).toEqual([]);
});
