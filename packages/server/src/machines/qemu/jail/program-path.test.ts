import { expect, it } from 'vitest';
import { findProgram } from './program-path.ts';

it('finds a program of the host, or says where it looked', async () => {
  expect(await findProgram('cat')).toBe('/usr/bin/cat');
  expect(await findProgram('/usr/bin/cat')).toBe('/usr/bin/cat');
  await expect(findProgram('no-such-program')).rejects.toThrow('no-such-program is in none of');
});
