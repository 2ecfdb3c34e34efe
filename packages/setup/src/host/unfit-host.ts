import { checkHostSupport, type HostPlaces } from '@mayfly/server/machines/qemu/check-host.ts';
import { SetupError } from '../setup-error.ts';

interface Lack {
  readonly what: string;
  readonly remedy: string;
}

/** One message that names everything a host lacks for machines, each with its remedy. */
export const formatLacks = (lacks: readonly Lack[]): string =>
  [
    'This host cannot run machines yet; nothing was changed.',
    ...lacks.map(({ what, remedy }) => `  • ${what}.\n    Remedy: ${remedy}`),
  ].join('\n');

/** Fails with what this host lacks that no package brings, before set-up does anything. Elsewhere than as root on Linux, set-up says more itself. */
export async function refuseUnfitHost(places?: HostPlaces): Promise<void> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return;
  const lacks = await checkHostSupport(places);
  if (lacks.length > 0) throw new SetupError(formatLacks(lacks));
}
