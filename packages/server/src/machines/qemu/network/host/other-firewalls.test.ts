import { describe, expect, test } from 'vitest';
import { cidr } from '../../../ipv4.ts';
import { inspectOtherFirewalls, parseChains } from './other-firewalls.ts';

const range = cidr('198.19.192.0/19');
const forward = { family: 'ip', table: 'filter', name: 'FORWARD', hook: 'forward', policy: 'drop' };
const dockerUser = { family: 'ip', table: 'filter', name: 'DOCKER-USER' };

describe('other firewalls', () => {
  test('the output of nft is parsed', () => {
    const json = { nftables: [{ metainfo: { version: '1.0.6' } }, { chain: { ...forward, handle: 1, prio: 0 } }] };
    expect(parseChains(JSON.stringify(json))).toEqual([forward]);
  });

  test.each([
    ['nothing drops', [{ ...forward, policy: 'accept' }, dockerUser], false, 0],
    ['Docker drops', [forward, dockerUser], true, 0],
    ['something else drops in the same table', [forward], false, 1],
    ['another table drops too', [forward, dockerUser, { ...forward, family: 'inet', table: 'fw' }], true, 1],
    ['only IPv6 is dropped', [{ ...forward, family: 'ip6' }], false, 0],
    ["the chain is Mayfly's own", [{ ...forward, family: 'inet', table: 'mayfly' }], false, 0],
  ])('%s', (_, chains, useDockerUser, problemCount) => {
    const found = inspectOtherFirewalls(chains, range);
    expect(found.useDockerUser).toBe(useDockerUser);
    expect(found.problems).toHaveLength(problemCount);
  });
});
