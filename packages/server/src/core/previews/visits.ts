import type { Duplex } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import type { MachineRegistry } from '../machines/registry.ts';
import { GuestRefusal } from '../ports/guest-agent.ts';
import type { KnownPreview, PreviewStore } from '../ports/store/preview-store.ts';
import type { PreviewTarget, PreviewTraffic } from './preview-traffic.ts';

/** How many requests and sockets may be open at once through all previews of one sandbox. */
export const maxOpenPerSandbox = 256;

/** Why a preview cannot be served. */
export type PreviewErrorKind =
  /** No preview has this token: it never existed, was closed, or its sandbox has ended. */
  | 'unknown'
  /** Nothing is listening on the port in the sandbox. */
  | 'nothing_listening'
  /** The machine died, its agent does not answer, or the database is unavailable. */
  | 'unreachable'
  /** The sandbox has reached its limit of open connections. */
  | 'busy';

/** A preview that cannot be served, with a message for the visitor. */
export class PreviewError extends Error {
  readonly kind: PreviewErrorKind;

  constructor(kind: PreviewErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PreviewError';
    this.kind = kind;
  }
}

/** One request or socket that a visitor has open through a preview. */
export interface PreviewVisit {
  readonly target: PreviewTarget;
  /** To be called when the request or socket is done. */
  readonly end: () => void;
}

/** What admitting a visitor needs. */
export interface VisitNeeds {
  readonly store: { readonly previews: PreviewStore };
  readonly previewTraffic: PreviewTraffic;
}

/** Admits a visitor by the preview's token. `disconnect` is called when the preview ends first. Throws a PreviewError. */
export async function startVisit(core: VisitNeeds, token: string, disconnect: () => void): Promise<PreviewVisit> {
  const target = await findOpenPreview(core, token);
  if (core.previewTraffic.countOf(target.sandboxId) >= maxOpenPerSandbox) {
    const limit = `The sandbox has reached its limit of ${maxOpenPerSandbox} open connections.`;
    throw new PreviewError('busy', `${limit} Try again in a moment.`);
  }
  return { target, end: core.previewTraffic.track(target, disconnect) };
}

/** The target of a token, guaranteed to be open at the moment the promise resolves. */
async function findOpenPreview(core: VisitNeeds, token: string): Promise<PreviewTarget> {
  for (;;) {
    const { disconnects } = core.previewTraffic;
    const known = await lookUp(core, token);
    if (known?.sandboxStatus !== 'running') throw notOpen(known);
    if (core.previewTraffic.disconnects === disconnects) return { sandboxId: known.sandboxId, port: known.port };
  }
}

/** A database outage is reported as such, and not blamed on the sandbox. */
async function lookUp(core: VisitNeeds, token: string): Promise<KnownPreview | undefined> {
  try {
    return await core.store.previews.findByToken(token);
  } catch (cause) {
    const message = 'The service cannot look up this preview right now. Try again in a moment.';
    throw new PreviewError('unreachable', message, { cause });
  }
}

function notOpen(known: KnownPreview | undefined): PreviewError {
  if (known?.sandboxStatus === 'failed') return new PreviewError('unreachable', "The sandbox's machine has died.");
  return new PreviewError(
    'unknown',
    'There is no open preview at this address. It was closed, its sandbox has ended, or it never existed.',
  );
}

/** How long to wait for a server that is still starting. */
export const serverStartMs = 3_000;
const retryMs = 100;

/** What connecting to the server behind a preview needs. */
export interface ConnectPreviewNeeds {
  readonly machines: MachineRegistry;
}

/** Connects to the server behind a preview, waiting a little for one that is still starting. Throws a PreviewError. */
export async function connectPreview(
  core: ConnectPreviewNeeds,
  { sandboxId, port }: PreviewTarget,
  signal: AbortSignal,
): Promise<Duplex> {
  const lastTryMs = performance.now() + serverStartMs;
  for (;;) {
    try {
      const live = core.machines.get(sandboxId);
      const agent = await live.whileAlive(live.agent());
      return await live.whileAlive(agent.openTunnel(port));
    } catch (cause) {
      if (!(cause instanceof GuestRefusal) || cause.code !== 'refused') {
        throw new PreviewError('unreachable', 'The sandbox does not answer.', { cause });
      }
      if (signal.aborted || performance.now() > lastTryMs) {
        throw new PreviewError('nothing_listening', `Nothing is listening on port ${port} in the sandbox.`);
      }
    }
    // Rejects when the visitor has gone; the check of the signal above then ends the loop.
    await setTimeout(retryMs, undefined, { signal }).catch(() => {});
  }
}
