import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { takeDownUnusedHost } from './host-network.ts';

test('a host that was never set up has nothing to take down', async () => {
  await expect(takeDownUnusedHost(join(tmpdir(), 'mayfly-missing-state'))).resolves.toBeUndefined();
});
