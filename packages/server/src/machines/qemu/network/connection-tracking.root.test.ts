import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canOpenNetworkLab, NetworkLab } from '../../../../test/network/network-lab.ts';
import type { RpcChild } from '../../../../test/network/rpc.ts';
import { defaultNetworkLimits } from './rules/machine-ruleset.ts';

const target = '203.0.113.1:80';
const connections = 20;
const hostConnections = 40;
const attempts = 300;

describe.runIf(canOpenNetworkLab)("the host's connection table", () => {
  let lab: NetworkLab;
  let hostProcess: RpcChild;
  let hostile: RpcChild;
  let innocent: RpcChild;

  /** The connections that the host tracks for a slot, as lines of `conntrack`. */
  const tracked = (slot: number): string[] =>
    lab
      .sh(`conntrack -L -s 198.19.192.${2 * slot + 1} 2>/dev/null`)
      .split('\n')
      .filter((line) => line !== '');
  const reach = async (guest: RpcChild): Promise<string> =>
    (await guest.ask<{ outcome: string }>('connect', { host: '203.0.113.1', port: 80, timeoutMs: 15_000 })).outcome;

  beforeAll(async () => {
    ({ lab } = await NetworkLab.open());
    hostProcess = await lab.hostProcess('one', { ...defaultNetworkLimits, connections, hostConnections });
    for (const slot of [1, 2]) await hostProcess.ask('create', { slot, uid: 70_000 + slot });
    [hostile, innocent] = [await lab.guest(1, 70_001), await lab.guest(2, 70_002)];
  }, 60_000);

  afterAll(async () => lab[Symbol.asyncDispose]());

  test('a machine that makes its namespace forget connections cannot fill the table', async () => {
    const opened = lab.abandonConnections(hostile.pid, target, attempts);
    const inNamespace = Number(
      lab.sh('nsenter --net=/run/netns/mayfly-1 cat /proc/sys/net/netfilter/nf_conntrack_count'),
    );
    const onHost = tracked(1).filter((line) => line.includes('ESTABLISHED')).length;
    console.log(
      `of ${attempts} connections ${opened} were opened; the host tracks ${onHost} (${inNamespace} in the namespace)`,
    );
    expect(opened).toBeGreaterThan(connections);
    expect(onHost).toBeLessThanOrEqual(hostConnections);
    expect(await reach(hostile)).toBe('ECONNREFUSED');
    expect(await reach(innocent)).toBe('open');
  });

  test('an idle connection is forgotten after two hours instead of five days', () => {
    const seconds = tracked(1).map((line) => Number(line.split(/\s+/)[2]));
    expect(seconds.length).toBeGreaterThan(0);
    expect(Math.max(...seconds)).toBeLessThanOrEqual(7440);
  });

  test('the connections of a machine are forgotten with it, so that the next machine in its slot can connect', async () => {
    await hostProcess.ask('release', { slot: 1 });
    expect(tracked(1)).toHaveLength(0);
    await hostProcess.ask('create', { slot: 1, uid: 70_001 });
    expect(await reach(await lab.guest(1, 70_001))).toBe('open');
  });
});
