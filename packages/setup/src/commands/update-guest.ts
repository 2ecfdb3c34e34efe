import { createAnnouncer } from '../announce.ts';
import { beginGuestUpdate, finishGuestUpdate } from '../cache/guest-update.ts';
import { readEnvironment } from '../environment.ts';
import { prepare } from '../prepare.ts';
import { refuseUnfitHost } from '../requirements/problems.ts';

/**
 * Builds the guest's kernel, image and templates again from Debian's current packages. Every later set-up uses them once all are built; until
 * then, and when this fails, the old ones stay in use.
 */
export async function updateGuest(_args: readonly string[], signal: AbortSignal): Promise<number> {
  await refuseUnfitHost();
  const environment = readEnvironment(process.env);
  const guestUpdate = await beginGuestUpdate(environment.cacheDir);
  const announcer = createAnnouncer(process.stderr);
  const { artifacts } = await prepare({ environment, purpose: 'service', announcer, signal, guestUpdate });
  await finishGuestUpdate(environment.cacheDir);
  process.stdout.write(
    `The guest is up to date (kernel ${artifacts.kernelVersion}). The next npm start uses it for new sandboxes; running ones keep theirs.\n`,
  );
  return 0;
}
