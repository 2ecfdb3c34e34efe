import { expect, it } from 'vitest';
import { findGivenAwayIds, readIdSource } from './given-away-ids.ts';

const own = { first: 2_000_000, count: 1_000 };
const problemsOf = (subuid: string, passwd = '') =>
  findGivenAwayIds({ subordinate: { '/etc/subuid': subuid }, accounts: { user: passwd } }, own).map(({ what }) => what);

it('accepts ranges and users beside the ids of machines', () => {
  expect(problemsOf('# none\nalice:100000:65536\nbob:1934464:65536\ncarol:2001000:65536\n\n')).toEqual([]);
  expect(
    problemsOf('', 'root:x:0:0:root:/root:/bin/bash\nalice:x:1999999:1999999::/:\ncarol:x:2001000:100::/:'),
  ).toEqual([]);
});

it('names a range that has ids of machines, and what to do', () => {
  const ranges = 'alice:1990000:65536\nbob:2000999:1\n1000:0:4294967295';
  expect(problemsOf(ranges)).toEqual([
    '/etc/subuid gives alice the ids from 1990000 on (65536 of them), and Mayfly runs machines under the ids 2000000 to 2000999',
    expect.stringContaining('gives bob'),
    expect.stringContaining('gives 1000'),
  ]);
});

it('names a user with an id of a machine', () => {
  expect(problemsOf('', 'alice:x:2000005:100::/home/alice:/bin/bash')).toEqual([
    'the user alice has the id 2000005, and Mayfly runs machines under the ids 2000000 to 2000999',
  ]);
});

it('finds a user and a group by their ids, also if others do not exist', async () => {
  const missing = 3_999_999;
  expect(await readIdSource('passwd', [missing, 0])).toMatch(/^root:/);
  expect(await readIdSource('group', [0, missing])).toMatch(/^root:/);
});
