import { rm } from 'node:fs/promises';
import { noHostRuleset } from '../rules/host-ruleset.ts';
import { run } from './command.ts';
import { leaveDockerUser } from './docker-user.ts';
import { listLinks } from './host-links.ts';
import { hostRecordSchema } from './host-record.ts';
import { readJsonFile } from './json-file.ts';
import { unmountNetnsDir } from './netns-mount.ts';
import { isForwardingEverywhere, setForwarding } from './sysctl.ts';

/** Puts the host back as it was before the first machine, unless a machine's link is left. Returns whether it did. Called under the host's lock. */
export const takeDownHost = async (recordPath: string): Promise<boolean> => {
  const record = await readJsonFile(recordPath, hostRecordSchema);
  if (!record || (await listLinks()).length > 0) return false;
  await leaveDockerUser();
  if (!(await isForwardingEverywhere())) {
    for (const device of record.switchedOn) await setForwarding(device, false);
  }
  await run('nft', ['-f', '-'], noHostRuleset);
  if (record.madeNetnsMount) await unmountNetnsDir();
  await rm(recordPath, { force: true });
  return true;
};
