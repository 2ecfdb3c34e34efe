import { createHash } from 'node:crypto';
import { cidr, formatCidr } from '../plan/ipv4.ts';
import { chooseLinkRange } from '../plan/link-range.ts';
import { findUplinks, parseRoutes } from '../plan/routes.ts';
import { hostRuleset } from '../rules/host-ruleset.ts';
import { run } from './command.ts';
import { allowInDockerUser } from './docker-user.ts';
import { isOwnTableLoaded, judgeForeignFirewall, parseChains } from './foreign-firewall.ts';
import { listLinks } from './host-links.ts';
import { type HostRecord, hostRecordSchema } from './host-record.ts';
import { readJsonFile, writeJsonFile } from './json-file.ts';
import { findLegacyDrop } from './legacy-firewall.ts';
import { isNetnsDirMounted, mountNetnsDir } from './netns-mount.ts';
import type { Problem } from './problem.ts';
import { isForwarding, isForwardingEverywhere, setForwarding } from './sysctl.ts';

/** How the host stands after it was set up. */
export interface HostState {
  readonly record: HostRecord;
  readonly problems: readonly Problem[];
}

const isOff = async (device: string): Promise<boolean> => (await isForwarding(device)) === false;

const filterAsync = async (names: readonly string[], test: (name: string) => Promise<boolean>): Promise<string[]> => {
  const results = await Promise.all(names.map(test));
  return names.filter((_, index) => results[index]);
};

/**
 * Makes the host fit for machines, or mends it when something was undone: link range, forwarding, the host's table, Docker's chain.
 * What is switched on is recorded first. Called under the host's lock, as often as one likes.
 */
export const setUpHost = async (recordPath: string): Promise<HostState> => {
  const [routesJson, chainsJson, links, isEverywhere, isNetnsMounted, old] = await Promise.all([
    run('ip', ['-4', '-j', 'route', 'show', 'table', 'all']),
    run('nft', ['-j', 'list', 'chains']),
    listLinks(),
    isForwardingEverywhere(),
    isNetnsDirMounted(),
    readJsonFile(recordPath, hostRecordSchema),
  ]);
  const routes = parseRoutes(routesJson);
  const chains = parseChains(chainsJson);
  const range = old ? cidr(old.range) : chooseLinkRange(routes);

  const ours = new Set(links);
  const uplinks = findUplinks(routes).filter((name) => !ours.has(name));
  const [uplinksOff, linksOff] = await Promise.all([filterAsync(uplinks, isOff), filterAsync(links, isOff)]);
  const switchedOn = [...new Set([...(old?.switchedOn ?? []), ...uplinksOff])].sort();
  const ruleset = hostRuleset({ range, guardedUplinks: isEverywhere ? [] : switchedOn });
  const rulesetDigest = createHash('sha256').update(ruleset).digest('hex');
  const isLoaded = old?.rulesetDigest === rulesetDigest && isOwnTableLoaded(chains);

  const record: HostRecord = {
    range: formatCidr(range),
    switchedOn,
    madeNetnsMount: old?.madeNetnsMount || !isNetnsMounted,
    rulesetDigest: isLoaded ? rulesetDigest : '',
  };
  if (JSON.stringify(record) !== JSON.stringify(old)) await writeJsonFile(recordPath, record);
  if (!isNetnsMounted) await mountNetnsDir();
  if (!isLoaded) await run('nft', ['-f', '-'], ruleset);
  for (const device of [...uplinksOff, ...linksOff]) await setForwarding(device, true);
  const final = { ...record, rulesetDigest };
  if (JSON.stringify(final) !== JSON.stringify(record)) await writeJsonFile(recordPath, final);

  const { useDockerUser, problems } = judgeForeignFirewall(chains, range);
  if (useDockerUser) await allowInDockerUser(range);
  return { record: final, problems: [...problems, ...(await findLegacyDrop(range))] };
};
