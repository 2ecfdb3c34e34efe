import { createKey, listAccounts } from '@mayfly/contract/admin';
import { profilePathOf } from '@mayfly/sdk';
import { adminClientOf } from '../admin/admin-command.ts';
import type { CliIo } from '../cli-io.ts';
import type { ServiceOptions } from '../service/client.ts';
import { readProfiles, writeProfiles } from './profile-file.ts';

const healthMs = 5_000;
/** Whoever sets one of these has chosen a service. */
const variables = ['MAYFLY_API_KEY', 'MAYFLY_BASE_URL', 'MAYFLY_URL', 'MAYFLY_PROFILE'];

/**
 * On the host of a service root needs no login: if nothing says which service to use, and one is ready here, an API key of its first account is made
 * through the admin socket and saved as the current profile. Otherwise nothing changes.
 */
export async function ensureLocalProfile(io: CliIo, options: ServiceOptions, isRoot: boolean): Promise<void> {
  const { env, stderr } = io;
  const isChosen = options.profile !== undefined || options.url !== undefined || variables.some((name) => env[name]);
  if (isChosen || !isRoot || profilePathOf(env) === undefined) return;
  const { current, byName } = await readProfiles(env);
  if (byName.has(current)) return;
  const url = `http://127.0.0.1:${env.MAYFLY_PORT || 8080}`;
  const health = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(healthMs) }).catch(() => undefined);
  if (health?.ok !== true) return;
  const admin = adminClientOf(env);
  const accounts = await admin.call(listAccounts, {}).catch(() => undefined);
  const account = accounts?.data.find(({ status }) => status === 'active');
  if (account === undefined) return;
  const { id, api_key } = await admin.call(createKey, { params: { email: account.email } });
  await writeProfiles(env, { current, byName: new Map([...byName, [current, { url, api_key }]]) });
  stderr.write(
    `Using the service on this host as ${account.email}: made the API key ${id}, saved in the profile ${current}.\n`,
  );
}
