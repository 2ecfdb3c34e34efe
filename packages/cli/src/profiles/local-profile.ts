import { createKey, getService, listAccounts } from '@mayfly/contract/admin';
import { profilePathOf } from '@mayfly/sdk';
import { adminClientOf } from '../admin/admin-command.ts';
import type { CliIo } from '../cli-io.ts';
import type { ServiceOptions } from '../service/client.ts';
import { readProfiles, writeProfiles } from './profile-file.ts';

const healthMs = 5_000;

/**
 * On the host of a service root needs no login: if there is neither a key nor a profile, and a service is ready here, an API key of its first account is
 * created through the admin socket and saved as the current profile. Otherwise nothing changes. The socket says where the service is: the key is sent
 * nowhere else. An address that the user chose must be the same one.
 */
export async function ensureLocalProfile(io: CliIo, options: ServiceOptions, isRoot: boolean): Promise<void> {
  const { env, stderr } = io;
  const hasCredentials = options.profile !== undefined || env.MAYFLY_PROFILE || env.MAYFLY_API_KEY;
  if (hasCredentials || !isRoot || profilePathOf(env) === undefined) return;
  const { current, byName } = await readProfiles(env);
  if (byName.has(current)) return;
  const admin = adminClientOf(env);
  const url = (await admin.call(getService, {}).catch(() => undefined))?.url ?? undefined;
  const chosen = options.url ?? (env.MAYFLY_BASE_URL || undefined);
  if (url === undefined || (chosen !== undefined && addressOf(chosen) !== addressOf(url))) return;
  const health = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(healthMs) }).catch(() => undefined);
  if (health?.ok !== true) return;
  const accounts = await admin.call(listAccounts, {}).catch(() => undefined);
  const account = accounts?.data.find(({ status }) => status === 'active');
  if (account === undefined) return;
  const { id, api_key } = await admin.call(createKey, {
    params: { email: account.email },
    body: { name: 'mayfly command' },
  });
  await writeProfiles(env, { current, byName: new Map([...byName, [current, { url, api_key }]]) });
  stderr.write(
    `Using the service on this host as ${account.email}: created the API key ${id}, saved in the profile ${current}.\n`,
  );
}

/** The address of a service without its version prefix, as far as the text is a URL. */
function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text).href : text;
  return url.replace(/\/+$/, '').replace(/\/v1$/, '');
}
