import { formatBytes } from '@mayfly/contract';
import { faultInName } from './paths.ts';

export type UploadState =
  | { readonly kind: 'waiting' }
  /** There is an entry with this name, and nobody has said yet whether it is replaced. */
  | { readonly kind: 'exists' }
  | { readonly kind: 'sending'; readonly part: number }
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly reason: string };

/** A file on its way into a folder. */
export interface Upload {
  readonly id: number;
  readonly folder: string;
  readonly name: string;
  readonly sizeBytes: number;
  readonly state: UploadState;
}

export interface Candidate {
  readonly id: number;
  readonly name: string;
  readonly size: number;
}

/** Where files are to go. */
export interface Destination {
  readonly folder: string;
  /** The names in the folder. */
  readonly existing: ReadonlySet<string>;
  /** The largest file that the service takes in one request. */
  readonly maxBytes: number;
}

export function enqueue(
  queue: readonly Upload[],
  files: readonly Candidate[],
  { folder, existing, maxBytes }: Destination,
): readonly Upload[] {
  const added = files.map(({ id, name, size }): Upload => {
    const fault =
      size > maxBytes
        ? `It is larger than ${formatBytes(maxBytes)}, which the service accepts at once.`
        : faultInName(name, folder);
    // What has just been uploaded may not be listed yet.
    const isUploaded = queue.some(
      (other) => other.folder === folder && other.name === name && other.state.kind !== 'failed',
    );
    const state: UploadState =
      fault !== undefined
        ? { kind: 'failed', reason: fault }
        : existing.has(name) || isUploaded
          ? { kind: 'exists' }
          : { kind: 'waiting' };
    return { id, folder, name, sizeBytes: size, state };
  });
  return [...queue, ...added];
}

/** Whether something is still to be done with an upload. */
export function isPending({ state }: Upload): boolean {
  return state.kind === 'waiting' || state.kind === 'sending' || state.kind === 'exists';
}

/** The upload that is to be sent now: one at a time, so that the page has connections left. */
export function nextUpload(queue: readonly Upload[]): Upload | undefined {
  if (queue.some(({ state }) => state.kind === 'sending')) return undefined;
  return queue.find(({ state }) => state.kind === 'waiting');
}

export function changeUpload(queue: readonly Upload[], id: number, state: UploadState): readonly Upload[] {
  return queue.map((upload) => (upload.id === id ? { ...upload, state } : upload));
}

/** How far all of them are, from 0 to 1, by their sizes; undefined if nothing is on its way. */
export function progressOf(queue: readonly Upload[]): number | undefined {
  if (!queue.some(({ state }) => state.kind === 'waiting' || state.kind === 'sending')) return undefined;
  let allBytes = 0;
  let sentBytes = 0;
  for (const { state, sizeBytes } of queue) {
    if (state.kind === 'failed' || state.kind === 'exists') continue;
    // Each has a cost of its own, so that empty files count too.
    const weight = sizeBytes + 10_000;
    allBytes += weight;
    if (state.kind === 'done') sentBytes += weight;
    if (state.kind === 'sending') sentBytes += weight * state.part;
  }
  return sentBytes / allBytes;
}
