import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { cidr, formatCidr } from '../../../ipv4.ts';
import type { HostProblem } from '../check-support.ts';
import { type HostRecord, readHostRecord, writeHostRecord } from '../network-records.ts';
import { chooseLinkRange } from '../plan/address-plan.ts';
import { connectionsPerMachine, hostRuleset, removeHostRuleset } from '../rules/host-ruleset.ts';
import {
  applyRuleset,
  findUplinks,
  isForwardingEverywhere,
  isNetnsDirMounted,
  listLinks,
  listRoutes,
  mountNetnsDir,
  readConnectionTableSize,
  setForwarding,
  unmountNetnsDir,
  withForwardingOff,
} from './kernel-state.ts';
import {
  allowInDockerUser,
  inspectOtherFirewalls,
  isOwnTableLoaded,
  listChains,
  removeFromDockerUser,
} from './other-firewalls.ts';

/** The state of the host after a set-up. */
export interface HostState {
  readonly record: HostRecord;
  readonly problems: readonly HostProblem[];
}

/**
 * Prepares the host for machines: link range, forwarding, Mayfly's nftables table, Docker's chain. Idempotent; a later call repairs
 * what others have undone. Records what it switches on before it does so. The caller holds the host's lock.
 */
export async function setUpHost(recordPath: string, connections?: number): Promise<HostState> {
  const [routes, chains, links, isEverywhere, isNetnsMounted, tableSize, old] = await Promise.all([
    listRoutes(),
    listChains(),
    listLinks(),
    isForwardingEverywhere(),
    isNetnsDirMounted(),
    readConnectionTableSize(),
    readHostRecord(recordPath),
  ]);
  const range = old ? cidr(old.range) : chooseLinkRange(routes.map(({ destination }) => destination));

  const uplinks = findUplinks(routes).filter((name) => !links.includes(name));
  const [uplinksOff, linksOff] = await Promise.all([withForwardingOff(uplinks), withForwardingOff(links)]);
  const switchedOn = [...new Set([...(old?.switchedOn ?? []), ...uplinksOff])].sort();
  const ruleset = hostRuleset({
    range,
    guardedUplinks: isEverywhere ? [] : switchedOn,
    connectionsPerMachine: connections ?? connectionsPerMachine(tableSize),
  });
  const rulesetDigest = createHash('sha256').update(ruleset).digest('hex');
  const isLoaded = old?.rulesetDigest === rulesetDigest && isOwnTableLoaded(chains);

  const record: HostRecord = {
    range: formatCidr(range),
    switchedOn,
    madeNetnsMount: old?.madeNetnsMount || !isNetnsMounted,
    rulesetDigest: isLoaded ? rulesetDigest : '',
  };
  if (JSON.stringify(record) !== JSON.stringify(old)) await writeHostRecord(recordPath, record);
  if (!isNetnsMounted) await mountNetnsDir();
  if (!isLoaded) await applyRuleset(ruleset);
  for (const device of [...uplinksOff, ...linksOff]) await setForwarding(device, true);
  const final = { ...record, rulesetDigest };
  if (!isLoaded) await writeHostRecord(recordPath, final);

  const { useDockerUser, problems } = inspectOtherFirewalls(chains, range);
  if (useDockerUser) await allowInDockerUser(range);
  return { record: final, problems };
}

/** Undoes the set-up, unless a machine's link is left. The caller holds the host's lock. */
export async function takeDownHost(recordPath: string): Promise<void> {
  const record = await readHostRecord(recordPath);
  if (!record || (await listLinks()).length > 0) return;
  await removeFromDockerUser();
  if (!(await isForwardingEverywhere())) {
    for (const device of record.switchedOn) await setForwarding(device, false);
  }
  await applyRuleset(removeHostRuleset);
  if (record.madeNetnsMount) await unmountNetnsDir();
  await rm(recordPath, { force: true });
}
