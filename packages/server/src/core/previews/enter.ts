import type { Core } from '../context.ts';
import type { KnownPreview } from '../ports/store/preview-store.ts';
import { PreviewFailure } from './failure.ts';
import type { PreviewTarget } from './traffic.ts';

/** How much may be open at once through all previews of one sandbox. */
export const maxOpenPerSandbox = 256;

/** Something that came in through a preview. */
export interface Entered {
  readonly target: PreviewTarget;
  /** Says that it is over. */
  readonly leave: () => void;
}

type Needs = Pick<Core, 'store' | 'previewTraffic'>;

/** Lets something in by a token, to be cut as soon as the preview ends. Fails with PreviewFailure. */
export async function enterPreview(core: Needs, token: string, cut: () => void): Promise<Entered> {
  const target = await findOpen(core, token);
  if (core.previewTraffic.countOf(target.sandboxId) >= maxOpenPerSandbox) {
    throw new PreviewFailure(
      'busy',
      `The sandbox has ${maxOpenPerSandbox} open connections, which is as many as it may have.`,
    );
  }
  return { target, leave: core.previewTraffic.hold(target, cut) };
}

/** The preview of a token that is open at the moment this settles. */
async function findOpen(core: Needs, token: string): Promise<PreviewTarget> {
  for (;;) {
    const { cuts } = core.previewTraffic;
    const known = await lookUp(core, token);
    if (known?.sandboxStatus !== 'running') throw notOpen(known);
    if (core.previewTraffic.cuts === cuts) return { sandboxId: known.sandboxId, port: known.port };
  }
}

/** A database that is away for a moment is not the sandbox's fault, and is not told as such. */
async function lookUp(core: Needs, token: string): Promise<KnownPreview | undefined> {
  try {
    return await core.store.previews.findByToken(token);
  } catch (cause) {
    throw new PreviewFailure('unreachable', 'The service cannot look this preview up now. Try again in a moment.', {
      cause,
    });
  }
}

function notOpen(known: KnownPreview | undefined): PreviewFailure {
  if (known?.sandboxStatus === 'failed') return new PreviewFailure('unreachable', "The sandbox's machine has died.");
  return new PreviewFailure(
    'unknown',
    'No preview is open here. It was closed, its sandbox has ended, or it never was.',
  );
}
