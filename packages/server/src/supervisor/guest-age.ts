import type { Log } from '../core/ports/runtime.ts';

/** A guest image that is older lacks security updates. Set-up warns from the same age on. */
export const oldGuestDays = 30;

const dayMs = 86_400_000;

/** Reminds the operator of a service that runs for months, in the log, once a day. Set-up says the same at the start. */
export function watchGuestAge(guestBuiltAtMs: number | undefined, log: Log): void {
  if (guestBuiltAtMs === undefined) return;
  const check = (): void => {
    const ageDays = Math.floor((Date.now() - guestBuiltAtMs) / dayMs);
    if (ageDays > oldGuestDays) log.warn({ age_days: ageDays, remedy: 'npm run update-guest' }, 'guest_image_outdated');
  };
  check();
  setInterval(check, dayMs).unref();
}
