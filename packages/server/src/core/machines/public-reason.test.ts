import { expect, test } from 'vitest';
import { ApiError } from '../errors/api-error.ts';
import { GuestUnreachable } from '../ports/guest-agent.ts';
import { HostUnavailable, SnapshotUnusable } from '../ports/machine-driver.ts';
import { DeadlineExceeded } from '../scheduling/deadline.ts';
import { publicReason } from './public-reason.ts';

test.each([
  [new Error("ENOSPC: no space left on device, copyfile '/var/lib/mayfly/machines/m1/disk.qcow2'"), 'it failed'],
  [new Error('write /sys/fs/cgroup/mayfly-0a1b/m1/cgroup.procs: busy'), 'it failed'],
  [new Error('qemu-system-aarch64 exited: -drive file=/var/cache/mayfly/image: Permission denied'), 'it failed'],
  ['text', 'it failed'],
  [new HostUnavailable('connect ENOENT /run/host.sock'), 'machines cannot be started or stopped at the moment'],
  [new DeadlineExceeded('killing process 4711', 5), 'it took too long'],
  [
    new GuestUnreachable('the agent channel did not open', { cause: new Error('/run/agent.sock') }),
    'the agent channel did not open',
  ],
  [new SnapshotUnusable('It was saved with another processor.'), 'It was saved with another processor'],
  [new ApiError('not_found', 'No such sandbox.'), 'No such sandbox'],
])('%s is shown as “%s”', (error, reason) => {
  expect(publicReason(error, 'it failed')).toBe(reason);
});
